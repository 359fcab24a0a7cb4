// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include "must.hpp"

namespace aqua::long_context {

using example::must;

Engine::Engine(Runtime& runtime, const Shape& shape, std::uint32_t frames, unsigned queries)
    : runtime_(runtime),
      shape_(shape),
      queries_(queries),
      pool_(must(LayerPool::create(runtime, {.layers = shape.layers,
                                             .planes_per_layer = 1,
                                             .block_bytes = kBlockBytes,
                                             .device_bytes = frames * shape.frame_bytes(),
                                             .frames = frames,
                                             .slab_bytes = kSlabBytes,
                                             .name = "context"}),
                 "layer pool")),
      stream_(must(emulated::create_stream(runtime), "stream")),
      blocks_(shape.capacity_blocks()),
      tokens_(shape.prompt_tokens) {
  std::iota(blocks_.begin(), blocks_.end(), 0U);
  for (unsigned layer = 0; layer < shape.layers; ++layer) {
    layers_.push_back({.planes = {pool_.planes(layer).front()},
                       .tokens_per_block = kTokensPerBlock,
                       .slot_bytes = kSlotBytes});
  }
}

Engine::~Engine() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

template <typename Launch>
void Engine::step(BlockList reads, BlockList writes, const Launch& launch) {
  must(pool_.begin_step(stream_, reads, writes), "begin_step");
  for (unsigned layer = 0; layer < shape_.layers; ++layer) {
    must(pool_.begin_layer(layer), "begin_layer");
    launch(layer);
    must(pool_.end_layer(layer), "end_layer");
  }
  const std::uint64_t number = must(pool_.end_step(), "end_step");
  must(emulated::synchronize(runtime_, stream_), "kernels");
  // The last block that was written may be on its way; what comes next comes in meanwhile.
  while (!must(pool_.step_done(number), "step_done")) std::this_thread::yield();
}

void Engine::prefill() {
  step({}, held_blocks(), [this](unsigned layer) {
    launch_prefill(runtime_, stream_, layers_[layer], blocks_, layer, shape_.prompt_tokens);
  });
}

void Engine::flip_a_byte() {
  step(block_of(0), block_of(0), [this](unsigned layer) {
    if (layer > 0) return;
    const auto kernel = [at = layers_[layer].planes.front()] {
      *emulated::kernel_view(at) ^= std::byte{1};
    };
    must(emulated::launch(runtime_, stream_, kernel), "launch");
  });
}

double Engine::run(RunMode mode, std::uint64_t steps, const std::function<bool()>& go_on) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (std::uint64_t i = 0; i < steps; ++i) {
    if (mode == RunMode::generate) generate_token();
    if (mode == RunMode::copies) copy_only();
    if (!go_on()) break;
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The block that the token goes to is read too, unless the token is its first.
void Engine::generate_token() {
  step(held_blocks(), block_of(tokens_), [this](unsigned layer) {
    launch_attention(runtime_, stream_, layers_[layer], blocks_,
                     {.layer = layer, .tokens = tokens_, .queries = queries_}, findings_);
  });
  ++generated_;
  if (++tokens_ == shape_.prompt_tokens + shape_.output_tokens) tokens_ = shape_.prompt_tokens;
}

void Engine::copy_only() {
  step(held_blocks(), block_of(tokens_ - 1), [](unsigned /*layer*/) {});
}

}  // namespace aqua::long_context
