// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/running_mean.hpp"

#include <gtest/gtest.h>

namespace aqua::schedule {
namespace {

constexpr std::uint64_t kWindow = 16;

TEST(RunningMean, CountsTheFirstOnesAlikeAndForgetsTheOld) {
  RunningMean mean;
  for (const double value : {1.0, 2.0, 6.0}) mean.add(value, kWindow);
  EXPECT_DOUBLE_EQ(mean.value(), 3);
  for (int i = 0; i < 1000; ++i) mean.add(5, kWindow);
  EXPECT_NEAR(mean.value(), 5, 1e-9);
  mean.begin_anew();
  EXPECT_NEAR(mean.value(), 5, 1e-9);
  mean.add(1, kWindow);
  EXPECT_DOUBLE_EQ(mean.value(), 1);
}

TEST(RunningCost, IsOfWhatSeveralTookSoThatFewCountForLittle) {
  RunningCost cost;
  EXPECT_DOUBLE_EQ(cost.value(), 0);
  cost.add(0.512, 512, kWindow);
  cost.add(0.004, 1, kWindow);  // a tail of one token, and two milliseconds of noise
  EXPECT_NEAR(cost.value(), 0.001, 2e-5);
}

TEST(RunningCost, TakesNothingForMoreThanEightTimesWhatItWas) {
  RunningCost cost;
  for (int i = 0; i < 20; ++i) cost.add(1, 100, kWindow);
  cost.add(500, 100, kWindow);
  EXPECT_NEAR(cost.value(), 0.01 * (15 + 8) / 16, 1e-12);
}

TEST(RunningCost, BeginsAnewWhereTheFirstWereFarOff) {
  RunningCost cost;
  cost.add(5, 500, kWindow);  // the first of an engine that warms up
  cost.add(0.05, 500, kWindow);
  EXPECT_NEAR(cost.value(), 0.0001, 1e-12);
}

TEST(RunningCost, IsNotForgottenForOneThatTookNoTime) {
  RunningCost cost;
  cost.add(0.5, 500, kWindow);
  cost.add(0, 1, kWindow);
  EXPECT_NEAR(cost.value(), 0.001, 1e-5);
}

TEST(RunningCost, ThatWasNoneMayRise) {
  RunningCost cost;
  for (int i = 0; i < 20; ++i) cost.add(0, 100, kWindow);
  EXPECT_DOUBLE_EQ(cost.value(), 0);
  for (int i = 0; i < 200; ++i) cost.add(1, 100, kWindow);
  EXPECT_NEAR(cost.value(), 0.01, 1e-4);
}

}  // namespace
}  // namespace aqua::schedule
