// SPDX-License-Identifier: Apache-2.0
#include "gpu_layer_pool_bench/engine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "aqua/stream_mark.hpp"
#include "must.hpp"

namespace aqua::bench {
namespace {

constexpr unsigned kLeadIn = 2;  // steps that do not count

LayerPool open_pool(Runtime& runtime, const Shape& shape, std::uint32_t frames, const char* goal) {
  LayerPoolOptions options = shape.pool(frames);
  options.slab_bytes = kSlabBytes;
  options.goal = goal;
  if (!options.goal.empty()) options.frames = 0;
  return must(LayerPool::create(runtime, options), "layer pool");
}

}  // namespace

SwapEngine::SwapEngine(Runtime& runtime, DeviceWork& work, const Shape& shape, std::uint32_t frames,
                       const char* goal)
    : runtime_(runtime),
      work_(work),
      shape_(shape),
      pool_(open_pool(runtime, shape, frames, goal)),
      stamps_(shape.frame_blocks()) {}

void SwapEngine::capture_layers() {
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer)
    work_.capture(layer, pool_.planes(layer), shape_.block_bytes);
  replays_ = true;
}

void SwapEngine::post(const BlockNumbers& writes) {
  LayerWork step{.writes = writes,
                 .step = ++step_,
                 .block_bytes = shape_.block_bytes,
                 .compute = shape_.layer_time,
                 .every_word = true};
  for (std::uint32_t b = 0; b < stamps_.size(); ++b) {
    if (stamps_[b] == 0) continue;
    step.reads.push_back(b);
    step.stamps.push_back(stamps_[b]);
  }
  calls_.of([&] { must(pool_.begin_step(work_.stream(), step.reads, writes), "begin_step"); });
  work_.load(step);
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
    std::span<std::byte* const> planes;
    calls_.of([&] { planes = must(pool_.begin_layer(layer), "begin_layer"); });
    if (replays_)
      work_.replay(layer);
    else
      work_.launch(layer, planes, shape_.block_bytes);
    calls_.of([&] { must(pool_.end_layer(layer), "end_layer"); });
  }
  calls_.of([&] { must(pool_.end_step(), "end_step"); });
  for (const std::uint32_t b : writes) stamps_[b] = stamp_of(step_, b);
}

SwapEngine::Seconds SwapEngine::time_steps(unsigned steps) {
  StreamMark begin = must(StreamMark::create(runtime_), "mark");
  StreamMark end = must(StreamMark::create(runtime_), "mark");
  const BlockNumbers writes{blocks() / 2 - 1, blocks() - 1};
  (void)work_.settle();
  Seconds took;
  for (unsigned i = 0; i < kLeadIn + steps; ++i) {
    if (i == kLeadIn) {
      must(begin.set(work_.stream()), "mark");
      took.calls -= calls_.seconds();
    }
    post(writes);
  }
  took.calls = (took.calls + calls_.seconds()) / steps;
  must(end.set(work_.stream()), "mark");
  check_words();
  took.device = std::chrono::duration<double>(must(end.since(begin), "mark")).count() / steps;
  return took;
}

void SwapEngine::fill() {
  BlockNumbers all(blocks());
  std::iota(all.begin(), all.end(), 0U);
  post(all);
  check();
}

void SwapEngine::check_words() {
  if (const std::uint64_t wrong = work_.settle(); wrong != 0) {
    std::fprintf(stderr, "gpu_layer_pool_bench: %llu words are not as they were written\n",
                 static_cast<unsigned long long>(wrong));
    std::_Exit(1);  // with threads of the runtime's still there
  }
}

std::size_t SwapEngine::check() {
  post({});
  check_words();
  return static_cast<std::size_t>(std::count_if(stamps_.begin(), stamps_.end(),
                                                [](std::uint32_t stamp) { return stamp != 0; })) *
         shape_.layers * shape_.planes * shape_.block_bytes;
}

void SwapEngine::resize(std::uint32_t frames) {
  must(pool_.resize(frames), "resize");
  if (pool_.usable_blocks() < blocks()) {
    std::fprintf(stderr, "gpu_layer_pool_bench: %u frames hold %u blocks\n", frames,
                 pool_.usable_blocks());
    std::exit(1);
  }
}

}  // namespace aqua::bench
