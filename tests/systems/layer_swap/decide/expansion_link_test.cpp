// SPDX-License-Identifier: Apache-2.0
// Expansion over a link that changes: by steps that stall, and by being told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/systems/layer_swap/decide/served_model.hpp"

namespace aqua::layer_swap::test {
namespace {

TEST(ExpansionLink, WhenTheLinkIsHalvedStallsAreGoneInFiftySteps) {
  Served served(weights_bound);
  served.run(400);
  const std::uint32_t before = served.expansion.frames();
  served.model.link_slowness = 2;
  served.run(50);
  double stalled = 0, seconds = 0;
  served.run(400, [&](const StepMeasure& m) {
    stalled += m.stall_seconds;
    seconds += m.seconds();
  });
  EXPECT_LT(stalled, 0.02 * seconds);
  EXPECT_GT(served.expansion.frames(), before + 4);
  served.model.link_slowness = 1;
  served.run(100);
  EXPECT_LE(served.expansion.frames(), before + 1) << "the link is as before";
}

// On the new link every step of the window would have stalled; none has to stall first.
TEST(ExpansionLink, WhenTheLinkIsSaidToBeAnotherOneFramesComeAtOnce) {
  Served served(weights_bound);
  served.run(400);
  const std::uint32_t before = served.expansion.frames();
  const double slower = 4 * weights_bound.fetch_block;
  EXPECT_GT(*served.expansion.link_changed(slower), before + 4);
  EXPECT_EQ(served.expansion.reason(), ExpansionReason::link);
  served.model.set_frames(served.expansion.frames());
  served.model.link_slowness = 4;
  served.run(4);  // sequences for which there is no room leave
  double stalled = 0, seconds = 0;
  served.run(100, [&](const StepMeasure& m) {
    stalled += m.stall_seconds;
    seconds += m.seconds();
  });
  EXPECT_LT(stalled, 0.02 * seconds);
  served.model.link_slowness = 1;  // and no failure stands against fewer
  served.run(200);
  EXPECT_LE(served.expansion.frames(), before + 1);
}

TEST(ExpansionLink, WhereALinkBringsEveryLayerHomeItIsTriedAgainLater) {
  Served served(weights_bound);
  served.run(10);  // nothing has failed that would be tried again
  ASSERT_EQ(served.expansion.reason(), ExpansionReason::wanted);
  const std::uint32_t before = served.expansion.frames();
  EXPECT_EQ(*served.expansion.link_changed(1000 * weights_bound.fetch_block), weights_bound.layers);
  served.model.set_frames(weights_bound.layers);
  served.run(500);
  EXPECT_EQ(served.expansion.frames(), weights_bound.layers) << "not at once";
  served.run(3000);
  EXPECT_LE(served.expansion.frames(), before + 1) << "the link is what it was";
}

TEST(ExpansionLink, ALinkThatIsFasterOrOfWhichNothingIsKnownChangesNothing) {
  Served served(weights_bound);
  EXPECT_EQ(*served.expansion.link_changed(1), weights_bound.layers);
  EXPECT_EQ(served.expansion.reason(), ExpansionReason::start);
  Served running(weights_bound);
  running.run(400);
  const std::uint32_t before = running.expansion.frames();
  EXPECT_EQ(*running.expansion.link_changed(weights_bound.fetch_block / 2), before);
  for (const double wrong : {0.0, -1.0, std::nan(""), HUGE_VAL})
    EXPECT_EQ(running.expansion.link_changed(wrong).error().code, Code::invalid_argument);
}

TEST(ExpansionLink, AShortBurstChangesNothing) {
  Served served(weights_bound);
  served.run(400);
  const std::uint32_t before = served.expansion.frames();
  for (const int steps : {1, 4, 10}) {
    served.model.link_slowness = 4;
    double stalled = 0;
    served.run(steps, [&](const StepMeasure& m) {
      stalled += m.stall_seconds;
      EXPECT_FALSE(m.resizing);
    });
    EXPECT_GT(stalled, 0) << "the burst was none";
    served.model.link_slowness = 1;
    served.run(100, [](const StepMeasure& m) { EXPECT_FALSE(m.resizing); });
    EXPECT_EQ(served.expansion.frames(), before);
  }
}

}  // namespace
}  // namespace aqua::layer_swap::test
