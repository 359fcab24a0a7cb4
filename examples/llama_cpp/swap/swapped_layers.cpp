// SPDX-License-Identifier: Apache-2.0
#include "swapped_layers.hpp"

#include <algorithm>

#include "kv_device.hpp"
#include "must.hpp"

namespace aqua::llama_example {
namespace {

constexpr unsigned kLeastFrames = 3;  // of a LayerPool

unsigned frames_of(const Model& model) {
  return std::max(kLeastFrames, model.layers() / 2);
}

std::size_t frame_bytes(const Model& model, unsigned slots, unsigned tokens_per_slot) {
  return LayeredKv::frame_bytes(Engine::cache_tokens(slots, tokens_per_slot) *
                                (model.kv_bytes_per_token() / model.layers() / 2));
}

bool goes_on_equally(Engine& engine, const std::vector<Token>& prompt) {
  const auto past = static_cast<unsigned>(prompt.size());
  const Token pending = engine.decode(0, 0, prompt).token;
  std::vector<std::byte> state(engine.state_bytes(0));
  engine.save(0, state);
  engine.restore(1, state);
  const Prediction first = engine.decode(0, past, {&pending, 1});
  return engine.decode(1, past, {&pending, 1}).logits_hash == first.logits_hash;
}

}  // namespace

SwapNeeds needs_of_swapping(const Model& model, unsigned slots, unsigned tokens_per_slot) {
  const std::size_t frame = frame_bytes(model, slots, tokens_per_slot);
  return {.device_bytes = frames_of(model) * frame, .away_bytes = model.layers() * frame};
}

SwappedLayers serve_with_layers_away(Runtime& runtime, const std::filesystem::path& file,
                                     const Model& reference,
                                     const std::vector<ChatRequest>& requests,
                                     const Options& options, unsigned tokens_per_slot,
                                     const std::function<void(const Progress&)>& each_turn) {
  SwappedLayers swapped;
  swapped.layers = reference.layers();
  swapped.frames = frames_of(reference);
  if (swapped.layers <= swapped.frames)
    throw example::Failure("--swap-layers: a model of " + std::to_string(swapped.layers) +
                           " layers has none to spare");
  KvDevice device(runtime, {.layers = swapped.layers,
                            .frames = swapped.frames,
                            .rows = Engine::cache_tokens(options.slots, tokens_per_slot)});
  const Model model(file, device.get());
  device.next_buffer_is_the_cache();
  try {
    Engine engine(model, options.slots, tokens_per_slot, options.threads);
    swapped.served = serve(engine, requests, options.slice, nullptr, each_turn);
    const LayerPoolStatus pool = device.status();
    const std::size_t frame = frame_bytes(reference, options.slots, tokens_per_slot);
    swapped.streamed_layers = pool.streamed_layers;
    swapped.resident_bytes = swapped.layers * frame;
    swapped.frame_bytes = swapped.frames * frame;
    swapped.away_bytes = pool.away_bytes;
    swapped.away_peer_bytes = pool.away_peer_bytes;
    swapped.steps = pool.steps;
    swapped.fetched_bytes = pool.fetched_bytes;
    swapped.written_bytes = pool.written_bytes;
    if (options.slots > 1)
      swapped.saved_state_equal = goes_on_equally(engine, requests.front().prompt);
  } catch (const example::Failure& failure) {
    if (device.failure().empty()) throw;
    throw example::Failure(std::string(failure.what()) + ": " + device.failure());
  }
  return swapped;
}

}  // namespace aqua::llama_example
