// SPDX-License-Identifier: Apache-2.0
// LayerPool with the schedule `fifo`: layers go from frame to frame, whole, by what the host sees
// complete, and no byte is wrong.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/systems/layer_swap/act/swap_engine.hpp"

namespace aqua {
namespace {

using namespace aqua::literals;
using test::SwapEngine;
using Blocks = SwapEngine::Blocks;

// Nine layers of one plane in 42 slabs: 16 blocks with nine frames, 24 with seven.
const LayerPoolOptions kNineLayers{.layers = 9,
                                   .planes_per_layer = 1,
                                   .block_bytes = 512_KiB,
                                   .device_bytes = 84_MiB,
                                   .frames = 7,
                                   .schedule = "fifo"};

class LayerPoolFifo : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Runtime::open({.device = "emu:0",
                                 .coordinator = "none",
                                 .host_bytes = 320_MiB,
                                 .emulated = {.total_bytes = 96_MiB, .hostile = true}});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    runtime_ = std::move(*opened);
    engine_ = std::make_unique<SwapEngine>(*runtime_, kNineLayers);
  }
  void TearDown() override { engine_.reset(); }
  [[nodiscard]] LayerPool& pool() { return engine_->pool(); }
  // Which have a frame.
  [[nodiscard]] std::set<std::byte*> places() {
    std::set<std::byte*> bases;
    for (std::uint32_t layer = 0; layer < kNineLayers.layers; ++layer) {
      if (!pool().planes(layer).empty()) bases.insert(pool().planes(layer).front());
    }
    return bases;
  }

  std::optional<Runtime> runtime_;
  std::unique_ptr<SwapEngine> engine_;
};

TEST_F(LayerPoolFifo, ALayerIsWhereTheMappingTableSays) {
  std::map<std::uint32_t, std::set<std::byte*>> places_of;
  std::set<std::byte*> all;
  EXPECT_TRUE(pool().planes(8).empty()) << "away at first";
  EXPECT_THROW((void)pool().planes(9), std::out_of_range);
  for (int step = 0; step < 6; ++step) {
    ASSERT_TRUE(pool().begin_step(engine_->stream(), Blocks{}, Blocks{0}).ok());
    for (std::uint32_t layer = 0; layer < kNineLayers.layers; ++layer) {
      engine_->settle();
      const auto planes = pool().begin_layer(layer);
      ASSERT_TRUE(planes.ok() && planes->size() == 1);
      places_of[layer].insert(planes->front());
      const auto now = places();
      all.insert(now.begin(), now.end());
      ASSERT_TRUE(pool().end_layer(layer).ok());
    }
    ASSERT_TRUE(pool().end_step().ok());
  }
  EXPECT_EQ(all.size(), 7U);
  EXPECT_TRUE(std::any_of(places_of.begin(), places_of.end(),
                          [](const auto& of) { return of.second.size() > 1; }));
}

TEST_F(LayerPoolFifo, LayersMoveWholeBothWays) {
  const std::uint32_t blocks = pool().usable_blocks();
  Blocks all(blocks);
  for (std::uint32_t b = 0; b < blocks; ++b) all[b] = b;
  engine_->must_step(all);
  const LayerPoolStatus before = pool().status();
  EXPECT_EQ(before.streamed_layers, 9U);
  EXPECT_EQ(before.away_bytes, 9 * blocks * kNineLayers.block_bytes);
  for (int i = 0; i < 3; ++i) engine_->must_step({0});
  const LayerPoolStatus after = pool().status();
  const std::uint64_t layer = blocks * kNineLayers.block_bytes;
  for (const std::uint64_t bytes :
       {after.fetched_bytes - before.fetched_bytes, after.written_bytes - before.written_bytes}) {
    EXPECT_GT(bytes, 0U);
    EXPECT_EQ(bytes % layer, 0U);
  }
  EXPECT_EQ(engine_->wrong(), 0U);
}

TEST_F(LayerPoolFifo, WhatIsSavedForATransferIsNotCountedAsWrittenBySteps) {
  engine_->must_step({0, 1, 2, 3});
  const std::uint64_t before = pool().status().written_bytes;
  AquaTensor tensor = *runtime_->allocate({.bytes = pool().packed_bytes(2)});
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(pool().offload(Blocks{1, 2}, tensor, engine_->stream()).ok());
  EXPECT_EQ(pool().status().written_bytes, before);
  EXPECT_EQ(engine_->wrong_in(tensor, engine_->stamps_of({1, 2})), 0U);
}

// What the host sees complete, and when, is by chance.
TEST_F(LayerPoolFifo, WheneverCopiesAreSeenCompleteNoByteIsWrong) {
  std::mt19937 random(11);
  const auto dice = [&](std::uint32_t sides) {
    return static_cast<std::uint32_t>(random() % sides);
  };
  struct Sequence {
    AquaTensor tensor;
    Blocks stamps;
  };
  std::map<std::uint32_t, Sequence> away;  // of two blocks, by the first
  engine_->must_step({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (int i = 0; i < 60; ++i) {
    engine_->set_in_step(dice(3) == 0);
    const std::uint32_t first = dice(6) * 2;
    const Blocks blocks{first, first + 1};
    if (const auto it = away.find(first); it != away.end()) {
      ASSERT_TRUE(pool().fetch(it->second.tensor, blocks, engine_->stream()).ok());
      engine_->set_stamps(blocks, it->second.stamps);
      away.erase(it);
    } else if (dice(2) == 0) {
      Sequence sequence{*runtime_->allocate({.bytes = pool().packed_bytes(2)}),
                        engine_->stamps_of(blocks)};
      ASSERT_TRUE(pool().offload(blocks, sequence.tensor, engine_->stream()).ok());
      engine_->forget(blocks);
      away.emplace(first, std::move(sequence));
    }
    if (i % 15 == 14) {
      const auto resized = pool().resize(4 + dice(6));
      ASSERT_TRUE(resized.ok()) << resized.error().message;
    }
    Blocks reads, writes;
    for (const std::uint32_t b : engine_->stamped()) {
      if (dice(4) != 0) reads.push_back(b);
      if (dice(4) == 0) writes.push_back(b);
    }
    const auto step = engine_->step(reads, writes);
    ASSERT_TRUE(step.ok()) << step.error().message;
  }
  engine_->must_step({});
  EXPECT_EQ(engine_->wrong(), 0U);
}

}  // namespace
}  // namespace aqua
