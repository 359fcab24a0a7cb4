// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/engine.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "aqua/emulated.hpp"
#include "must.hpp"

namespace aqua::bench {
Engine::Engine(Runtime& runtime, const Shape& shape, std::uint32_t blocks)
    : runtime_(runtime),
      shape_(shape),
      stream_(must(emulated::create_stream(runtime), "stream")),
      stamps_(blocks) {
  (void)wake_delay();
}

Engine::~Engine() {
  must(emulated::destroy_stream(runtime_, stream_), "destroy stream");
}

void Engine::post(const Blocks& reads, const Blocks& writes, const StepLoad& load) {
  auto work = std::make_shared<LayerWork>();
  work->reads = reads;
  for (const std::uint32_t b : reads) work->stamps.push_back(stamps_[b]);
  work->writes = writes;
  work->step = static_cast<std::uint32_t>(++posted_);
  work->block_bytes = shape_.block_bytes;
  work->compute = shape_.layer_time + shape_.block_time * static_cast<long>(reads.size());
  work->every_word = every_word_;
  calls_.of([&] { begin(reads, writes); });
  for (std::uint32_t layer = 0; layer < shape_.layers; ++layer) {
    if (in_step_) settle();
    std::span<std::byte* const> planes;
    calls_.of([&] { planes = begin_layer(layer); });
    launch(layer, planes, work);
    calls_.of([&] { end_layer(layer); });
  }
  for (const std::uint32_t b : writes) stamps_[b] = stamp_of(work->step, b);
  calls_.of([&] { end(load); });
}

void Engine::launch(std::uint32_t layer, std::span<std::byte* const> planes,
                    const std::shared_ptr<const LayerWork>& work) {
  const bool last = layer + 1 == shape_.layers;
  const auto kernel = [this, layer, planes, work, last] {
    wrong_ += run_layer(*work, layer, planes);
    if (!last) return;
    const std::lock_guard lock(mu_);
    ++ended_;
    ended_cv_.notify_all();
  };
  must(emulated::launch(runtime_, stream_, kernel), "launch");
}

void Engine::wait(std::uint64_t steps) {
  std::unique_lock lock(mu_);
  ended_cv_.wait(lock, [&] { return ended_ >= steps; });
}

void Engine::settle() {
  must(emulated::synchronize(runtime_, stream_), "synchronize");
}

std::size_t Engine::check() {
  const Blocks all = stamped();
  every_word_ = true;
  post(all, {});
  every_word_ = false;
  settle();
  if (const std::uint64_t wrong = wrong_; wrong != 0) {
    std::fprintf(stderr, "layer_pool_bench: %s: %llu words are not as they were written\n",
                 shape_.name.c_str(), static_cast<unsigned long long>(wrong));
    std::_Exit(1);  // with threads of the runtime's still there
  }
  return all.size() * shape_.layers * shape_.planes * shape_.block_bytes;
}

Blocks Engine::stamped() const {
  Blocks all;
  for (std::uint32_t b = 0; b < stamps_.size(); ++b) {
    if (stamps_[b] != 0) all.push_back(b);
  }
  return all;
}

void Engine::moved(const std::vector<layer_swap::BlockMove>& moves) {
  for (const auto& move : moves) stamps_[move.to] = std::exchange(stamps_[move.from], 0U);
}

void Engine::forget(const Blocks& blocks) {
  for (const std::uint32_t b : blocks) stamps_[b] = 0;
}

PoolEngine::PoolEngine(Runtime& runtime, const Shape& shape, const LayerPoolOptions& options)
    : Engine(runtime, shape,
             static_cast<std::uint32_t>(options.device_bytes / 3 / options.planes_per_layer /
                                        options.block_bytes)),
      pool_(must(LayerPool::create(runtime, options), "layer pool")) {}

void PoolEngine::begin(const Blocks& reads, const Blocks& writes) {
  must(pool_.begin_step(stream(), reads, writes), "begin_step");
}
std::span<std::byte* const> PoolEngine::begin_layer(std::uint32_t layer) {
  return must(pool_.begin_layer(layer), "begin_layer");
}
void PoolEngine::end_layer(std::uint32_t layer) {
  must(pool_.end_layer(layer), "end_layer");
}
void PoolEngine::end(const StepLoad& load) {
  must(pool_.end_step(load), "end_step");
}

}  // namespace aqua::bench
