// SPDX-License-Identifier: Apache-2.0
// The example of Pie's Figure 5, step by step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "systems/layer_swap/decide/expansion.hpp"

namespace aqua::layer_swap::test {
namespace {

// Six layers, all on the device at first, and more wanted than blocks can be.
struct SixLayers {
  // Serves steps until frames change, which is an event.
  void serve(int steps, double seconds_per_block, std::uint64_t swapped, double stall) {
    for (int i = 0; i < steps; ++i) {
      const std::uint32_t frames = expansion.frames();
      StepMeasure m;
      m.blocks_used = expansion.usable_blocks(frames);
      m.blocks_wanted = 10'000;
      m.compute_seconds = compute_seconds;
      m.stall_seconds = stall;
      m.fetched_blocks = swapped * m.blocks_used;
      m.fetch_seconds = static_cast<double>(m.fetched_blocks) * seconds_per_block;
      const std::uint32_t then = *expansion.step(m);
      if (then == frames) continue;
      events.push_back(std::to_string(6 - then) +
                       " away: " + std::string(to_string(expansion.reason())));
      return;
    }
  }
  Expansion expansion = *Expansion::create({.layers = 6, .blocks = 600});
  double compute_seconds = 6;
  std::vector<std::string> events;
};

// By its text: more are swapped while the link has room; swapping four layers a token makes a layer
// wait, and there is one less away.
TEST(Expansion, ReplaysTheEventsOfFigure5) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.001, 2, 0);    // two layers take turns in one frame
  six.serve(16, 0.0018, 4, 0.5);  // four a token, and another one uses the link
  six.serve(1000, 0.0018, 2, 0);  // no stall, and yet it is not tried again: the link is as slow
  EXPECT_THAT(six.events,
              ::testing::ElementsAre("1 away: wanted", "2 away: wanted", "1 away: stalls"));
}

// With four frames a step would stall, by reckoning, for a seventieth of its time, which counts as
// no stall on the way down.
TEST(Expansion, WhatCountsAsNoStallOnTheWayDownDoesSoOnTheWayBack) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.0005, 2, 0);
  six.serve(16, 0.00169, 5, 0.5);
  EXPECT_THAT(six.events,
              ::testing::ElementsAre("1 away: wanted", "3 away: wanted", "2 away: stalls"));
}

// By reckoning four frames stall, as three did.
TEST(Expansion, FramesBetweenThoseThatStalledAndThoseThatDoNotAreTried) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.0005, 2, 0);
  six.serve(16, 0.0018, 5, 0.5);
  six.serve(63, 0.0018, 2, 0);
  EXPECT_EQ(six.expansion.frames(), 5U) << "not at once";
  six.serve(1, 0.0018, 2, 0);
  six.serve(900, 0.0018, 4, 0);  // four frames do not; three are not tried again
  EXPECT_THAT(six.events, ::testing::ElementsAre("1 away: wanted", "3 away: wanted",
                                                 "1 away: stalls", "2 away: wanted"));
}

// A few steps that stalled are no reason to go back by itself.
TEST(Expansion, WhereWhatGainedNothingStalledAFewLessBlocksAreTried) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.0005, 2, 0);
  six.compute_seconds = 14;
  six.serve(30, 0.0005, 5, 0);  // a window in which the pool fills, and most of the one that judges
  six.serve(2, 0.0005, 5, 0.7);
  six.compute_seconds = 6;
  six.serve(900, 0.0005, 2, 0);
  EXPECT_THAT(six.events, ::testing::ElementsAre("1 away: wanted", "3 away: wanted",
                                                 "1 away: unpaid", "2 away: wanted"));
}

// A pool that is full before its first window ends is judged by the next one, and nothing is grown
// by what its prompts took.
TEST(Expansion, PromptsThatFillAPoolWithinAWindowSayNothingOfIt) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.0016, 2, 0);
  six.compute_seconds = 14;  // so long that layers of three frames would come in time
  six.serve(16, 0.0016, 4, 0);
  six.compute_seconds = 6;
  six.serve(900, 0.0016, 4, 0);
  EXPECT_THAT(six.events, ::testing::ElementsAre("1 away: wanted", "2 away: wanted"));
}

// Blocks that lie in more pieces take longer each, also on a link that is as it was.
TEST(Expansion, ALinkIsBelievedToBeFasterWhenItIsByFarAndForLong) {
  SixLayers six;
  six.serve(100, 0, 0, 0);
  six.serve(100, 0.001, 2, 0);
  six.serve(16, 0.0018, 4, 0.5);
  six.events.clear();
  six.serve(208, 0.0013, 2, 0);  // thirteen windows
  EXPECT_THAT(six.events, ::testing::IsEmpty()) << "by a quarter";
  six.serve(16, 0.0009, 2, 0);
  six.serve(16, 0.0018, 2, 0);
  EXPECT_THAT(six.events, ::testing::IsEmpty()) << "for a window";
  six.serve(16, 0.0009, 2, 0);
  six.serve(32, 0, 0, 0);
  six.serve(16, 0.0018, 2, 0);
  EXPECT_THAT(six.events, ::testing::IsEmpty()) << "windows that fetch nothing tell nothing";
  six.serve(48, 0.0009, 2, 0);
  EXPECT_THAT(six.events, ::testing::ElementsAre("2 away: wanted"));
}

}  // namespace
}  // namespace aqua::layer_swap::test
