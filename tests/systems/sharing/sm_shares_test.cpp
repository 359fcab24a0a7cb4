// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/sm_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

namespace aqua::sharing {
namespace {

const SpeedCurve kPrefill{};
const SpeedCurve kDecode{.points = {{0.4, 1}, {1, 1}}};

EngineLoad load_of(double prefill, double decode, double blocks = 0) {
  return {.phases = {{prefill, kPrefill}, {decode, kDecode, false}}, .kv_blocks = blocks};
}

double sum_of_shares(const SmShares& shares) {
  double sum = 0;
  for (const EngineShare& engine : shares.shares()) sum += engine.share;
  return sum;
}

TEST(SpeedCurve, IsAStraightLineBetweenItsPoints) {
  EXPECT_DOUBLE_EQ(speed_at(kPrefill, 0.25), 0.25);
  EXPECT_DOUBLE_EQ(speed_at(kDecode, 0.2), 0.5);
  EXPECT_DOUBLE_EQ(speed_at(kDecode, 0.4), 1);
  EXPECT_DOUBLE_EQ(speed_at(kDecode, 0.7), 1);
}

TEST(SmShares, BeginEqualAndStaySoWithoutLoad) {
  auto shares = SmShares::create(4, {.units = 20, .kv_blocks = 100}).value();
  for (const EngineShare& engine : shares.shares()) {
    EXPECT_EQ(engine, (EngineShare{.share = 0.25, .kv_blocks = 25}));
  }
  EXPECT_FALSE(shares.decide(std::vector<EngineLoad>(4)).value());
}

TEST(SmShares, AreTheBestOfAllDivisions) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(0, 1);
  int overloaded = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<EngineLoad> loads;
    for (int i = 0; i < 3; ++i) {
      const double knee = 0.05 + 0.9 * any(random), most = 0.1 + 0.4 * any(random);
      loads.push_back({.phases = {{most * any(random), kPrefill},
                                  {most * any(random), {.points = {{knee, 1}, {1, 1}}}}}});
    }
    constexpr unsigned kUnits = 12;
    auto shares = SmShares::create(3, {.units = kUnits, .least = 0, .worth_changing = 0}).value();
    ASSERT_TRUE(shares.decide(loads).ok());
    const auto keeping_up = [&](std::span<const EngineShare> of) {
      int count = 0;
      for (std::size_t i = 0; i < 3; ++i) {
        count +=
            highest_utilization(std::span(loads).subspan(i, 1), of.subspan(i, 1)) <= 0.8 ? 1 : 0;
      }
      return count;
    };
    double best = std::numeric_limits<double>::infinity();
    int most = 0;
    for (unsigned a = 1; a < kUnits; ++a) {
      for (unsigned b = 1; a + b < kUnits; ++b) {
        const double units = kUnits;
        const std::vector<EngineShare> other{
            {a / units, 0}, {b / units, 0}, {(kUnits - a - b) / units, 0}};
        best = std::min(best, highest_utilization(loads, other));
        most = std::max(most, keeping_up(other));
      }
    }
    EXPECT_EQ(keeping_up(shares.shares()), most);
    if (best <= 0.8) {
      EXPECT_NEAR(highest_utilization(loads, shares.shares()), best, 1e-9);
    }
    overloaded += best > 0.8 ? 1 : 0;
    EXPECT_NEAR(sum_of_shares(shares), 1, 1e-9);
  }
  EXPECT_GT(overloaded, 40);
  EXPECT_LT(overloaded, 360);
}

TEST(SmShares, WhomMoreDoesNotHelpLeavesItToOthers) {
  auto shares = SmShares::create(2, {.units = 20, .least = 0, .worth_changing = 0}).value();
  ASSERT_TRUE(shares.decide(std::vector{load_of(0, 0.75), load_of(0.4, 0)}).value());
  EXPECT_NEAR(shares.shares()[0].share, 0.4, 1e-9) << "decode is as fast as it can be";
  EXPECT_NEAR(shares.shares()[1].share, 0.6, 1e-9);
}

TEST(SmShares, FollowPopularityAndDoNotFlutter) {
  auto shares = SmShares::create(2, {.units = 20, .kv_blocks = 1000, .least = 0.1}).value();
  ASSERT_TRUE(shares.decide(std::vector{load_of(0.5, 0.05, 850), load_of(0.05, 0.05, 80)}).value());
  const auto before = shares.shares();
  EXPECT_GT(before[0].share, 0.7);
  EXPECT_GT(before[0].kv_blocks, 800U);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> noise(0.97, 1.03);
  for (int i = 0; i < 200; ++i) {
    const std::vector loads{load_of(0.5 * noise(random), 0.05, 850 * noise(random)),
                            load_of(0.05 * noise(random), 0.05, 80 * noise(random))};
    EXPECT_FALSE(shares.decide(loads).value());
  }
  EXPECT_EQ(shares.shares(), before);
  ASSERT_TRUE(shares.decide(std::vector{load_of(0.05, 0.05, 80), load_of(0.5, 0.05, 850)}).value());
  EXPECT_EQ(shares.shares()[0].share, before[1].share);
  EXPECT_EQ(shares.shares()[1].share, before[0].share);
}

TEST(SmShares, WhoIsAskedForLittleTakesTurns) {
  auto shares = SmShares::create(2, {}).value();
  EXPECT_TRUE(shares.take_turns());
  const auto turns_with = [&](double prefill, double decode) {
    EXPECT_TRUE(shares.decide(std::vector{load_of(prefill, decode), load_of(0, decode)}).ok());
    return shares.take_turns();
  };
  EXPECT_TRUE(turns_with(0.19, 0.9)) << "decode does not pile up";
  EXPECT_TRUE(turns_with(0.24, 0.9)) << "once in turn, for a little longer";
  EXPECT_FALSE(turns_with(0.26, 0));
  EXPECT_FALSE(turns_with(0.24, 0));
  EXPECT_TRUE(turns_with(0.19, 0));
}

TEST(SmShares, AChangeOfTurnsAloneIsToldToo) {
  auto shares = SmShares::create(2, {}).value();
  EXPECT_TRUE(shares.decide(std::vector{load_of(0.3, 0), load_of(0.3, 0)}).value());
  EXPECT_EQ(shares.shares()[0].share, 0.5);
  EXPECT_FALSE(shares.decide(std::vector{load_of(0.3, 0), load_of(0.3, 0)}).value());
}

TEST(SmShares, BlocksAreAllGivenOutWhateverIsWanted) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> any(0, 5000);
  auto shares = SmShares::create(5, {.kv_blocks = 997, .least = 0.25, .worth_changing = 0}).value();
  for (int i = 0; i < 200; ++i) {
    std::vector<EngineLoad> loads;
    for (int e = 0; e < 5; ++e) loads.push_back(load_of(0, 0, any(random)));
    ASSERT_TRUE(shares.decide(loads).ok());
    std::uint32_t sum = 0;
    for (const EngineShare& engine : shares.shares()) {
      EXPECT_GE(engine.kv_blocks, 49U);
      sum += engine.kv_blocks;
    }
    EXPECT_EQ(sum, 997U);
  }
}

TEST(SmShares, WhatCannotBeIsRefusedAndChangesNothing) {
  EXPECT_EQ(SmShares::create(0, {}).error().code, Code::invalid_argument);
  EXPECT_EQ(SmShares::create(21, {.units = 20}).error().code, Code::invalid_argument);
  EXPECT_EQ(SmShares::create(2, {.units = 1025}).error().code, Code::invalid_argument);
  EXPECT_EQ(SmShares::create(2, {.least = 2}).error().code, Code::invalid_argument);
  EXPECT_EQ(SmShares::create(2, {.worth_changing = -1}).error().code, Code::invalid_argument);
  auto shares = SmShares::create(2, {}).value();
  const auto before = shares.shares();
  const auto refused = [&](EngineLoad load) {
    const auto decided = shares.decide(std::vector{std::move(load), load_of(5, 0)});
    return !decided.ok() && decided.error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused(load_of(-1, 0)));
  EXPECT_TRUE(refused(load_of(std::nan(""), 0)));
  EXPECT_TRUE(refused(load_of(0, 0, std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(refused({.phases = {{1, {.points = {}}}}}));
  EXPECT_TRUE(refused({.phases = {{1, {.points = {{0.5, 1}}}}}}));
  EXPECT_TRUE(refused({.phases = {{1, {.points = {{0.5, 0.9}, {0.4, 1}, {1, 1}}}}}}));
  EXPECT_EQ(shares.decide(std::vector{load_of(1, 1)}).error().code, Code::invalid_argument);
  EXPECT_EQ(shares.shares(), before);
}

}  // namespace
}  // namespace aqua::sharing
