// SPDX-License-Identifier: Apache-2.0
// What layer_pool_bench concludes from the steps of a pool whose link others load.
#include "layer_pool_bench/measured_steps.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace aqua::bench {
namespace {

// One measured step for each character: `S` stalled, `.` did not, and ` ` was not measured.
std::vector<MeasuredStep> steps(std::string_view drawn) {
  std::vector<MeasuredStep> all;
  for (unsigned number = 1; const char step : drawn) {
    if (step != ' ') all.push_back({number, step == 'S' ? 2 * kStall : kStall, 1});
    ++number;
  }
  return all;
}

TEST(MeasuredSteps, StallsAreGoneAfterTheLastOfThem) {
  EXPECT_EQ(gone_after(steps("SSSSSSSSSSSS........")), 13);
  EXPECT_EQ(gone_after(steps("..SSSSSSSSSSSS..........")), 15);
}

TEST(MeasuredSteps, AStepThatWasNotMeasuredCountsAsOnePosted) {
  EXPECT_EQ(gone_after(steps("SSSSSSSS SSSS  ........")), 14);
}

TEST(MeasuredSteps, StallsThatComeBackAreNotGone) {
  EXPECT_EQ(gone_after(steps("SSSSSSSS............SSSSSSSS")), nullptr);
  EXPECT_EQ(gone_after(steps("SSSSSSSS............SSSSSSSS........")), 29);
}

TEST(MeasuredSteps, StallsThatNeverWereAreNotGone) {
  EXPECT_EQ(gone_after(steps("........................")), nullptr);
  EXPECT_EQ(gone_after(steps("...S.........S..........")), nullptr) << "now and then";
  EXPECT_EQ(gone_after({}), nullptr);
}

TEST(MeasuredSteps, OneThatStallsNowAndThenDoesNotBringThemBack) {
  EXPECT_EQ(gone_after(steps("SSSSSSSSSSSS...........S........")), 13);
}

TEST(MeasuredSteps, OfABurstThoseCountThatWerePostedUnderIt) {
  EXPECT_EQ(stalled_steps(steps("..SSSSSS........"), 6), 6U);
  EXPECT_EQ(stalled_steps(steps("SS......SSSSSSSS"), 6), 0U) << "before it, and behind it";
}

TEST(MeasuredSteps, FetchesAreComparedByMedians) {
  std::vector<MeasuredStep> loaded = steps("........");
  for (std::size_t i = 2; i < 6; ++i) loaded[i].fetch_seconds = 2;
  EXPECT_EQ(fetch_slowdown(steps("...."), loaded, 6), 2.0);
  EXPECT_EQ(fetch_slowdown({}, loaded, 6), nullptr);
  EXPECT_EQ(fetch_slowdown(steps("...."), {}, 6), nullptr);
}

}  // namespace
}  // namespace aqua::bench
