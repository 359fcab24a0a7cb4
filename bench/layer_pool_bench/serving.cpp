// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/serving.hpp"

#include "layer_pool_bench/timing.hpp"
#include "must.hpp"

namespace aqua::bench {

using layer_swap::BlockPool;

Serving::Serving(Runtime& runtime, const ServingOptions& options) : options_(options) {
  const Shape& shape = options_.shape;
  LayerPoolOptions pool = shape.pool(shape.layers);
  pool.frames = options_.frames;
  pool.goal = options_.goal;
  pool.on_resize = [this](const LayerPoolResize& news) { follow(news); };
  engine_.emplace(runtime, shape, pool);
  blocks_ = must(BlockPool::create(shape.layers, engine_->pool().usable_blocks()), "blocks");
  wanted_ = engine_->pool().usable_blocks(3) + options_.sequence_blocks;
}

void Serving::follow(const LayerPoolResize& news) {
  engine_->moved(news.moved);
  for (const auto sequence : news.preempt) {
    engine_->forget(blocks_->blocks_of(sequence));
    must(blocks_->release(sequence), "release");
    sequences_.erase(sequence);
  }
  for (auto& [sequence, blocks] : sequences_) blocks = blocks_->blocks_of(sequence);
}

// Adds the blocks of the sequences that come now.
void Serving::admit(Blocks& fresh) {
  const std::uint64_t now = engine_->posted();
  if (options_.arrival_steps > 0 && now % options_.arrival_steps != 0) return;
  for (;;) {
    auto blocks = blocks_->allocate(next_, options_.sequence_blocks);
    if (!blocks.ok() && blocks.error().code != Code::resource_exhausted) must(std::move(blocks));
    if (!blocks.ok()) {
      if (!filled_at_) filled_at_ = now + 1;
      return;
    }
    fresh.insert(fresh.end(), blocks->begin(), blocks->end());
    sequences_.emplace(next_++, std::move(*blocks));
    if (options_.arrival_steps > 0) return;
  }
}

std::uint32_t Serving::step() {
  Blocks reads, writes;
  for (const auto& [sequence, blocks] : sequences_) {
    reads.insert(reads.end(), blocks.begin(), blocks.end());
    writes.push_back(blocks.back());
  }
  admit(writes);
  const std::uint32_t tokens = running();
  engine_->post(reads, writes, {.blocks_used = used(), .blocks_wanted = wanted_});
  if (options_.goal.empty()) return tokens;
  const std::uint64_t before = status().resizes;
  (void)must(engine_->pool().adapt(*blocks_, engine_->stream()), "adapt");
  if (status().resizes != before) changed_at_ = engine_->posted() + 1;
  return tokens;
}

void Serving::settle(unsigned quiet, unsigned most) {
  const std::uint64_t begin = engine_->posted();
  const auto settled = [&] {
    const std::uint64_t now = engine_->posted();
    return filled_at_ && now >= std::max(*filled_at_, changed_at_.value_or(0)) + quiet;
  };
  while (!settled() && engine_->posted() < begin + most) {
    step();
    engine_->wait(engine_->posted() - 1);
  }
  engine_->settle();
}

Batch Serving::batch(unsigned steps) {
  const std::uint64_t before = engine_->posted();
  Batch batch;
  const double seconds = seconds_per_step(*engine_, steps, [&] {
    const std::uint32_t tokens = step();
    if (counts(engine_->posted() - before, steps)) batch.tokens += tokens;
  });
  batch.seconds = seconds * steps;
  return batch;
}

}  // namespace aqua::bench
