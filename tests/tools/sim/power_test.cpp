// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/fleet/power.hpp"

#include <gtest/gtest.h>

#include <set>

namespace aqua::sim {
namespace {

constexpr Picos kSecond = kPicosPerSecond;

class PowerOfFour : public ::testing::Test {
 protected:
  void settle(Picos now) {
    power_.settle([&](std::size_t engine) { return used_.contains(engine); }, now);
  }
  Power power_{4, {.spare = 1, .boot = 10 * kSecond, .linger = 5 * kSecond}};
  std::set<std::size_t> used_;
};

TEST_F(PowerOfFour, BootsTheSpareOneWhenTheFirstIsUsed) {
  EXPECT_EQ(power_.state(0), Power::State::up);
  EXPECT_EQ(power_.state(1), Power::State::off);
  used_ = {0};
  settle(0);
  EXPECT_EQ(power_.state(1), Power::State::booting);
  EXPECT_EQ(power_.next(), 10 * kSecond);
  EXPECT_EQ(power_.come_up(10 * kSecond), (std::vector<std::size_t>{1}));
  EXPECT_EQ(power_.state(1), Power::State::up);
  EXPECT_EQ(power_.boots(), 1u);
}

TEST_F(PowerOfFour, OneThatIsNoLongerUsedStaysUpForAWhile) {
  used_ = {0, 1};
  settle(0);
  (void)power_.come_up(10 * kSecond);
  EXPECT_EQ(power_.powered(), 3u);
  used_ = {0};
  settle(20 * kSecond);
  EXPECT_EQ(power_.powered(), 3u);
  EXPECT_EQ(power_.next(), 25 * kSecond);
  settle(24 * kSecond);
  EXPECT_EQ(power_.powered(), 3u);
  settle(25 * kSecond);
  EXPECT_EQ(power_.powered(), 2u);
  EXPECT_EQ(power_.state(2), Power::State::off) << "the last one goes";
  EXPECT_NEAR(power_.engine_seconds(30 * kSecond), 3 * 25 + 2 * 5, 1e-9);
}

TEST_F(PowerOfFour, OneThatIsUsedAgainWhileItLingersStays) {
  used_ = {0, 1};
  settle(0);
  (void)power_.come_up(10 * kSecond);
  used_ = {0};
  settle(20 * kSecond);
  used_ = {0, 1};
  settle(22 * kSecond);
  settle(40 * kSecond);
  EXPECT_EQ(power_.powered(), 3u);
}

TEST(Power, OneThatLendsComesUpWhenItIsSaidToBeReady) {
  std::vector<std::pair<std::size_t, bool>> turned;
  Power power(2, {.spare = 0, .turned = [&](std::size_t engine, bool on, Picos) {
                    turned.emplace_back(engine, on);
                  }});
  power.settle([](std::size_t engine) { return engine == 0; }, 0);
  EXPECT_EQ(turned, (std::vector<std::pair<std::size_t, bool>>{{0, true}}));
  EXPECT_EQ(power.next(), kNever);
  power.ready(0, 3 * kSecond);
  EXPECT_EQ(power.come_up(3 * kSecond), (std::vector<std::size_t>{0}));
  power.settle([](std::size_t) { return false; }, 4 * kSecond);
  EXPECT_EQ(turned.back(), (std::pair<std::size_t, bool>{0, false}));
}

TEST(Power, OfAFixedFleetNeverChanges) {
  Power power(3, {.fixed = true});
  power.settle([](std::size_t) { return false; }, 5 * kSecond);
  EXPECT_EQ(power.powered(), 3u);
  EXPECT_NEAR(power.engine_seconds(10 * kSecond), 30, 1e-9);
}

}  // namespace
}  // namespace aqua::sim
