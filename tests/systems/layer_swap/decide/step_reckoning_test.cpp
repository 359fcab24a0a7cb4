// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/step_reckoning.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/concat.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"

namespace aqua::layer_swap {
namespace {

constexpr std::uint32_t kLayers = 40, kBlocks = 100;

// What is learnt from steps in which each streamed layer takes so long to fetch and to write.
StepReckoning learnt(double fetch, double write) {
  constexpr std::uint32_t kFrames = 30;
  const auto streamed = static_cast<std::uint32_t>(best_ring(kLayers, kFrames).streamed.size());
  StepWindow window(1);
  window.add({.compute_seconds = kLayers,
              .fetch_seconds = streamed * fetch,
              .write_seconds = streamed * write,
              .fetched_blocks = std::uint64_t{streamed} * kBlocks,
              .blocks_used = kBlocks});
  StepReckoning reckoning(kLayers, 0);
  reckoning.learn(window, kFrames, {1, kBlocks});
  return reckoning;
}

// What goes out takes nothing from what comes in, as long as the frames are free in time.
TEST(StepReckoning, WritesAreNoFetches) {
  EXPECT_TRUE(learnt(1.4, 0.4).fits(17, kBlocks, {1, kBlocks}, 0));
  EXPECT_FALSE(learnt(1.4, 3).fits(17, kBlocks, {1, kBlocks}, 0));
  EXPECT_FALSE(learnt(1.8, 0).fits(17, kBlocks, {1, kBlocks}, 0));
}

TEST(StepReckoning, WhatFitsDoesNotStallWhateverTheTimes) {
  std::mt19937 random{7};
  std::uniform_real_distribution<> fetch(0.1, 4), write(0, 2);
  int fitted = 0, stalled = 0;
  for (int round = 0; round < 500; ++round) {
    const auto frames = static_cast<std::uint32_t>(kLeastFrames + random() % 36);
    const StepTimes step{
        .compute = 1, .fetch = fetch(random), .whole_out = 0, .write_back = write(random)};
    SCOPED_TRACE(concat(frames, " frames, ", step.fetch, " in, ", step.write_back, " out"));
    StepTimer timer(*make_layer_schedule("fixed", {.layers = kLayers, .frames = frames}));
    double share = 0;
    for (int i = 0; i < 20; ++i) {
      const StepTiming played = *timer.step(step);
      share = played.stalled / played.seconds;
    }
    const bool fits = learnt(step.fetch, step.write_back).fits(frames, kBlocks, {1, kBlocks}, 0.02);
    EXPECT_TRUE(fits ? share <= 0.02 : share > 0) << share << " stalled, and it fits: " << fits;
    fitted += fits ? 1 : 0;
    stalled += share > 0.02 ? 1 : 0;
  }
  EXPECT_GT(fitted, 50);
  EXPECT_GT(stalled, 50);
}

// Each sequence writes to its last block, so that more of them write more.
TEST(StepReckoning, WritesGrowWithTheBlocks) {
  EXPECT_TRUE(learnt(0.001, 0.5).fits(17, kBlocks, {1, kBlocks}, 0));
  EXPECT_FALSE(learnt(0.001, 0.5).fits(17, 4 * kBlocks, {1, kBlocks}, 0));
}

// Layers that compute longer with more blocks leave the link more time.
TEST(StepReckoning, MoreBlocksTakeAsMuchLongerAsWasLearnt) {
  StepReckoning reckoning(kLayers, 0.02);
  reckoning.learn(StepWindow(1), kLayers, {1, 40});
  EXPECT_FALSE(reckoning.fits(20, kBlocks, {1, 40}, 0));
  reckoning.learn(StepWindow(1), kLayers, {1.2, 60});
  EXPECT_DOUBLE_EQ(reckoning.compute_per_block(), 0.01);
  EXPECT_TRUE(reckoning.fits(20, kBlocks, {1.2, 60}, 0));
}

// Prompts take time while a pool fills, and none of it is the blocks'.
TEST(StepReckoning, WhatWasTakenForBlocksIsUnlearntWhenPromptsAreOver) {
  StepReckoning reckoning(kLayers, 0.02);
  reckoning.learn(StepWindow(1), kLayers, {1, 40});
  reckoning.learn(StepWindow(1), kLayers, {2, 60});
  EXPECT_DOUBLE_EQ(reckoning.compute_per_block(), 2. / 60) << "no more than all";
  reckoning.learn(StepWindow(1), kLayers, {1.2, 65});
  EXPECT_DOUBLE_EQ(reckoning.compute_per_block(), 0.2 / 25);
  reckoning.learn(StepWindow(1), kLayers, {1.3, 65});
  EXPECT_DOUBLE_EQ(reckoning.compute_per_block(), 0.2 / 25) << "more is no news";
}

}  // namespace
}  // namespace aqua::layer_swap
