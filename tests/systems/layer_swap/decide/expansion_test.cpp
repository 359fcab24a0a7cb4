// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/expansion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/systems/layer_swap/decide/served_model.hpp"

namespace aqua::layer_swap::test {
namespace {

const Shape shapes[] = {
    weights_bound,
    {.name = "compute_bound", .layers = 40, .a_sequence = 0.02},
    {.name = "few_wanted", .layers = 32, .demand = 130},
    {.name = "slow_link", .layers = 64, .fetch_block = 0.008},
    {.name = "longer_with_more_blocks", .weights = 0.5, .a_block = 0.002},
};

double rate_of_fixed(const Shape& shape, std::uint32_t frames, Goal goal = Goal::capacity) {
  ServedModel model(shape, goal);
  model.set_frames(frames);
  model.running = shape.demand;
  for (int i = 0; i < 4; ++i) model.step();
  model.tokens = model.seconds = 0;
  for (int i = 0; i < 24; ++i) model.step();
  return model.tokens / model.seconds;
}

class Shapes : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Expansion, Shapes, ::testing::ValuesIn(shapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

TEST_P(Shapes, AdaptiveIsAsGoodAsTheBestFixedExpansion) {
  const Shape shape = GetParam();
  double best = 0;
  std::uint32_t best_frames = 0;
  for (std::uint32_t frames = kLeastFrames; frames <= shape.layers; ++frames) {
    const double rate = rate_of_fixed(shape, frames);
    if (rate > best) best = rate, best_frames = frames;
  }
  Served served(shape);
  for (int i = 0; i < 1000 && !served.model.filled; ++i) served.run(1);
  served.run(100);
  EXPECT_GE(served.rate(1000), 0.98 * best)
      << served.expansion.frames() << " frames, where " << best_frames << " are best";
}

TEST(Expansion, TheFirstJumpIsReckonedAndHoldsWhenThePoolIsFull) {
  Served served(weights_bound);
  served.run(4);
  const std::uint32_t jump = served.expansion.frames();
  EXPECT_LT(jump, 28U) << "after four steps, with nine sequences";
  while (!served.model.filled) served.run(1);
  const std::uint32_t full = served.expansion.frames();
  served.run(1000);
  EXPECT_LE(std::max(full, served.expansion.frames()) - std::min(full, served.expansion.frames()),
            1U);
}

// What a block costs is learnt while the pool fills.
TEST(Expansion, AJumpIsCorrectedBeforeThePoolIsFull) {
  Served served({.name = "longer",
                 .layers = 12,
                 .blocks = 128,
                 .seq_blocks = 2,
                 .weights = 4,
                 .a_block = 0.06,
                 .fetch_block = 0.125,
                 .admits = 1});
  std::vector<std::uint32_t> jumps{12};
  while (!served.model.filled) {
    served.run(1);
    if (served.expansion.frames() != jumps.back()) jumps.push_back(served.expansion.frames());
  }
  EXPECT_GE(jumps.size(), 3U) << "the first jump knew what blocks cost";
  served.run(1000);
  EXPECT_EQ(served.expansion.frames(), jumps.back());
}

TEST(Expansion, PromptsThatFillAPoolAreNotHeldAgainstIt) {
  Shape shape = weights_bound;
  shape.demand = 100;
  shape.a_prompt = 0.5;
  Served served(shape);
  served.run(200);
  EXPECT_EQ(served.expansion.frames(), 48U);
  served.model.set_demand(1000);
  served.run(400);
  EXPECT_LT(served.expansion.frames(), 30U);
}

TEST(Expansion, FramesComeBackWhenBlocksAreNotWanted) {
  Served served(weights_bound);
  served.run(400);
  EXPECT_LT(served.expansion.frames(), 24U);
  served.model.set_demand(110);
  served.run(200);
  EXPECT_EQ(served.expansion.reason(), ExpansionReason::not_wanted);
  EXPECT_GE(served.model.usable(), 1100U);
  EXPECT_GT(served.expansion.frames(), 36U);
  served.model.set_demand(20);
  served.run(200);
  EXPECT_EQ(served.expansion.frames(), 48U);
}

TEST(Expansion, WhatGainsNothingIsUndoneAndRarelyTriedAgain) {
  Served served({.name = "compute_bound", .layers = 40, .a_sequence = 0.02});
  int changes = 0;
  std::uint32_t frames = 40;
  served.run(6000, [&](const StepMeasure& m) {
    changes += served.expansion.frames() != frames ? 1 : 0;
    frames = served.expansion.frames();
    EXPECT_LT(m.blocks_used, 3000U) << "a third of the blocks showed it";
  });
  EXPECT_GE(changes, 2);
  EXPECT_LE(changes, 8) << "there and back, at ever longer intervals";
  EXPECT_EQ(frames, 40U);
}

TEST(Expansion, NoiseIsHardlyEverTakenForAGain) {
  int kept = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Served served({.name = "compute_bound", .layers = 40, .a_sequence = 0.02, .seed = seed});
    served.run(400);
    kept += served.expansion.frames() < 40 ? 1 : 0;
  }
  EXPECT_LE(kept, 3) << "of 60";
}

// One sequence more than there is room for cannot show a gain.
TEST(Expansion, ATrialOfTooFewBlocksForbidsNothing) {
  Shape shape = weights_bound;
  shape.demand = 101;
  shape.noise = 0.05;
  Served served(shape);
  served.run(200);
  EXPECT_GE(served.expansion.frames(), 47U);
  served.model.set_demand(1000);
  served.run(200);
  EXPECT_LT(served.expansion.frames(), 30U) << "what one sequence gained was held against many";
}

// Twelve slabs, of which each frame has as many as the others.
TEST(Expansion, WhereMemoryComesInPiecesOnlyFramesThatHoldMoreAreAskedFor) {
  Expansion expansion =
      *Expansion::create({.layers = 6, .blocks = 20, .usable_blocks = {0, 0, 0, 40, 30, 20, 20}});
  StepMeasure m;
  m.compute_seconds = 6;
  m.blocks_used = 20;
  m.blocks_wanted = 20;
  for (int i = 0; i < 40; ++i) ASSERT_EQ(*expansion.step(m), 6U) << "as many as there are";
  m.blocks_wanted = 100;
  for (int i = 0; i < 40 && expansion.frames() == 6; ++i) ASSERT_TRUE(expansion.step(m).ok());
  EXPECT_EQ(expansion.frames(), 4U) << "five would hold no more, and three are a guess";
  EXPECT_EQ(expansion.usable_blocks(5), 20U);
}

TEST(Expansion, FramesThatWereAppliedInsteadAreKept) {
  Served served(weights_bound);
  served.run(4);
  const std::uint32_t asked = served.expansion.frames();
  ASSERT_LT(asked, 46U);
  ASSERT_TRUE(served.expansion.applied(46).ok());
  EXPECT_EQ(served.expansion.reason(), ExpansionReason::applied);
  served.model.ask(46);
  served.run(900);
  EXPECT_EQ(served.expansion.frames(), 46U) << "others had no room for fewer";
  served.run(400);
  EXPECT_LT(served.expansion.frames(), 40U) << "and after a while it is tried again";
  EXPECT_EQ(served.expansion.applied(2).error().code, Code::invalid_argument);
  EXPECT_EQ(served.expansion.applied(49).error().code, Code::invalid_argument);
}

TEST(Expansion, ForMemoryFewerFramesHoldTheSameBlocksAtTheSameRate) {
  Shape shape = weights_bound;
  shape.fetch_block = 0.002;
  Served served(shape, Goal::memory);
  served.run(600);
  EXPECT_LE(served.expansion.frames() * 1.67, 48.0);
  EXPECT_EQ(served.model.usable(), shape.blocks);
  EXPECT_GE(served.rate(400), 0.98 * rate_of_fixed(shape, 48, Goal::memory));
}

TEST(Expansion, StaysInRangeWhateverIsMeasured) {
  std::mt19937 random(3);
  const auto any_time = [&random] {
    constexpr double times[] = {0, 1e-12, 0.001, 0.5, 1, 40, 1e300};
    return times[random() % std::size(times)];
  };
  for (int round = 0; round < 40; ++round) {
    const auto layers = static_cast<std::uint32_t>(3 + random() % 30);
    Expansion expansion =
        *Expansion::create({.goal = random() % 2 == 0 ? Goal::memory : Goal::capacity,
                            .layers = layers,
                            .blocks = 1 + static_cast<std::uint32_t>(random() % 1000),
                            .seconds_per_block = any_time(),
                            .probe_steps = 64});
    StepMeasure m;
    for (int step = 0; step < 600; ++step) {
      if (random() % 20 == 0) {  // the same for a while, so that windows conclude something
        m = {any_time(), any_time(), any_time(), any_time()};
        m.fetched_blocks = random() % 3 * 1000;
        m.blocks_used = static_cast<std::uint32_t>(random() % 2000);
        m.blocks_wanted = static_cast<std::uint32_t>(random() % 3000);
      }
      m.resizing = random() % 50 == 0;
      const std::uint32_t before = expansion.frames();
      const std::uint32_t frames = *expansion.step(m);
      ASSERT_GE(frames, kLeastFrames);
      ASSERT_LE(frames, layers);
      ASSERT_TRUE(frames == before || !m.resizing) << "nothing is concluded from such a step";
    }
  }
}

TEST(Expansion, BadInputIsRefusedByName) {
  using ::testing::HasSubstr;
  const auto refused = [](ExpansionOptions options) {
    const auto made = Expansion::create(options);
    return made.ok() ? "made" : made.error().message;
  };
  EXPECT_THAT(refused({.layers = 2, .blocks = 9}), HasSubstr("2 layers"));
  EXPECT_THAT(refused({.layers = 257, .blocks = 9}), HasSubstr("257 layers"));
  EXPECT_THAT(refused({.layers = 9}), HasSubstr("no blocks"));
  EXPECT_THAT(refused({.layers = 9, .blocks = 9, .seconds_per_block = -1}),
              HasSubstr("seconds_per_block of -1"));
  EXPECT_THAT(refused({.layers = 9, .blocks = 9, .stall_share = 1}), HasSubstr("stall_share of 1"));
  EXPECT_THAT(refused({.layers = 9, .blocks = 9, .window_steps = 3}), HasSubstr("window_steps 3"));
  for (const std::vector<std::uint32_t>& table :
       {std::vector<std::uint32_t>{0, 0, 0, 12, 9}, {0, 0, 0, 8, 10, 9}, {0, 0, 0, 12, 10, 8}}) {
    EXPECT_THAT(refused({.layers = 5, .blocks = 9, .usable_blocks = table}),
                HasSubstr("usable_blocks of"));
  }
  Expansion expansion = *Expansion::create({.layers = 9, .blocks = 9});
  StepMeasure measure;
  measure.stall_seconds = -1;
  EXPECT_THAT(expansion.step(measure).error().message, HasSubstr("a time of -1"));
  EXPECT_EQ(expansion.frames(), 9U);
}

}  // namespace
}  // namespace aqua::layer_swap::test
