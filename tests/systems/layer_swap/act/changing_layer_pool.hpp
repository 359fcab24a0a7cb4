// SPDX-License-Identifier: Apache-2.0
// A LayerPool whose frames change, with its engine's list of blocks: what the list says is followed
// by copies of whole sequences and by moves of blocks.
#pragma once

#include <map>
#include <optional>

#include "aqua/layer_swap/block_pool.hpp"
#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua::test {

using namespace aqua::literals;
using layer_swap::BlockPool;
using layer_swap::SequenceId;

// Six layers of one plane in 12 slabs: 8 blocks with six frames or five, 12 with four, 16 with
// three.
inline const LayerPoolOptions kAdapting{
    .layers = 6, .planes_per_layer = 1, .block_bytes = 512_KiB, .device_bytes = 24_MiB};

class ChangingLayerPool : public ::testing::Test {
 protected:
  using Blocks = SwapEngine::Blocks;

  void TearDown() override {
    swapped_.clear();
    engine_.reset();
  }
  void open(std::uint32_t frames, const char* goal, std::uint64_t link_bytes_per_second = 0,
            std::size_t host_bytes = 160_MiB) {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = host_bytes,
                                 .emulated = {.total_bytes = shape_.device_bytes + 8_MiB,
                                              .hostile = true,
                                              .link_bytes_per_second = link_bytes_per_second}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    LayerPoolOptions options = shape_;
    options.frames = frames;
    options.goal = goal;
    options.schedule = schedule_;
    options.on_resize = [this](const LayerPoolResize& news) { follow(news); };
    engine_ = std::make_unique<SwapEngine>(*runtime_, options);
    blocks_.emplace(*BlockPool::create(shape_.layers, pool().usable_blocks()));
  }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }
  void follow(const LayerPoolResize& news) {
    news_.push_back(news);
    engine_->moved(news.moved);
    if (!gives_back_) return;
    for (const SequenceId sequence : news.preempt) swap_out(sequence);
  }
  void swap_out(SequenceId sequence) {
    const Blocks of = blocks_->blocks_of(sequence);
    Swapped away{*runtime_->allocate({.bytes = pool().packed_bytes(of.size())}),
                 engine_->stamps_of(of)};
    ASSERT_TRUE(pool().offload(of, away.tensor, engine_->stream()).ok());
    swapped_.emplace(sequence, std::move(away));
    engine_->forget(of);
    ASSERT_TRUE(blocks_->release(sequence).ok());
  }
  void swap_in(SequenceId sequence) {
    Swapped& away = swapped_.at(sequence);
    const Blocks of = *blocks_->allocate(sequence, static_cast<std::uint32_t>(away.stamps.size()));
    ASSERT_TRUE(pool().fetch(away.tensor, of, engine_->stream()).ok());
    engine_->set_stamps(of, away.stamps);
  }
  void come(SequenceId sequence, std::uint32_t count) {
    const auto of = blocks_->allocate(sequence, count);
    ASSERT_TRUE(of.ok()) << of.error().message;
    engine_->must_step(*of);
  }
  void read_all() {
    engine_->must_step({});
    EXPECT_EQ(engine_->wrong(), 0U);
  }
  // A compute time of a layer's kernels that hides what two blocks take on the link, however busy
  // this machine is. Measured on the copies of all layers.
  [[nodiscard]] std::chrono::microseconds ample_compute() {
    const Blocks two{0, 1};
    AquaTensor tensor = *runtime_->allocate({.bytes = pool().packed_bytes(two.size())});
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(pool().offload(two, tensor, engine_->stream())->wait().ok());
    const auto took = std::chrono::steady_clock::now() - start;
    return std::max(std::chrono::microseconds(20'000),
                    4 * std::chrono::duration_cast<std::chrono::microseconds>(took));
  }
  [[nodiscard]] std::uint32_t used() const {
    return blocks_->usable_blocks() - blocks_->free_blocks();
  }
  // Steps of sequences of two blocks, which come in as long as fewer blocks are used than wanted,
  // until `enough`. Each reads as many of the blocks as it is told.
  template <typename Enough>
  void serve(std::uint32_t wanted, std::size_t reads, const Enough& enough) {
    for (int i = 0; i < 400 && !enough(); ++i) {
      Blocks fresh;
      while (used() + 2 <= wanted && blocks_->free_blocks() >= 2) {
        const Blocks of = *blocks_->allocate(next_++, 2);
        fresh.insert(fresh.end(), of.begin(), of.end());
      }
      Blocks read = engine_->stamped();
      if (read.size() > reads) read.resize(reads);
      const auto step =
          engine_->step(read, fresh, {.blocks_used = used(), .blocks_wanted = wanted});
      ASSERT_TRUE(step.ok()) << step.error().message;
      engine_->settle();
      const auto there = pool().adapt(*blocks_, engine_->stream());
      ASSERT_TRUE(there.ok() && *there);
      ASSERT_EQ(blocks_->usable_blocks(), pool().usable_blocks());
    }
    EXPECT_TRUE(enough()) << pool().status().frames << " frames";
  }

  struct Swapped {
    AquaTensor tensor;
    Blocks stamps;
  };
  LayerPoolOptions shape_ = kAdapting;
  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
  std::optional<BlockPool> blocks_;
  std::map<SequenceId, Swapped> swapped_;
  std::vector<LayerPoolResize> news_;
  bool gives_back_ = true;
  const char* schedule_ = "fixed";
  SequenceId next_ = 100;
};

}  // namespace aqua::test
