// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/producer_role.hpp"

#include <gtest/gtest.h>

namespace aqua::runtime {
namespace {

using std::chrono::seconds;

constexpr std::size_t kGiB = std::size_t{1} << 30;
constexpr std::size_t kDevice = 80 * kGiB;
constexpr LoadReport kCalm{.requests_per_second = 2};
constexpr LoadReport kSurge{.requests_per_second = 20};

// An engine with a profile: 40 GiB of KV memory, 20 of them free at 2 requests a second.
class ProducerRoleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(role_
                    .set_profile({.steady_requests_per_second = 2,
                                  .kv_bytes_total = 40 * kGiB,
                                  .steady_free_bytes = 20 * kGiB},
                                 {})
                    .ok());
  }

  Decision observe(const LoadReport& report, std::size_t lent, seconds at) {
    const auto decision = role_.observe(report, lent, start_ + at);
    EXPECT_TRUE(decision.ok());
    return decision.ok() ? *decision : Decision{};
  }
  // Calm for long enough; what is decided at the end of it.
  Decision settle(std::size_t lent, seconds from, seconds until) {
    Decision last;
    for (seconds at = from; at <= until && last.action == ProducerAction::keep; at += seconds(5)) {
      last = observe(kCalm, lent, at);
    }
    return last;
  }

  const Clock::time_point start_{seconds(1'000)};
  ProducerRole role_;
};

TEST_F(ProducerRoleTest, WithoutAProfileNothingIsDecidedAndTheDeviceIsTheEngines) {
  ProducerRole plain;
  const auto decision = plain.observe(kSurge, kGiB, start_);
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->action, ProducerAction::keep);
  EXPECT_EQ(plain.engine_bytes(kDevice, kGiB), kDevice - kGiB);
}

TEST_F(ProducerRoleTest, AReportThatAnotherThreadsOvertookCountsAsOfTheSameMoment) {
  EXPECT_TRUE(role_.observe(kCalm, 0, start_ + seconds(1)).ok());
  EXPECT_TRUE(role_.observe(kCalm, 0, start_).ok());
}

TEST_F(ProducerRoleTest, AReportThatCannotBeTrueIsRefused) {
  EXPECT_EQ(role_.observe({.requests_per_second = -1}, 0, start_).error().code,
            Code::invalid_argument);
}

TEST_F(ProducerRoleTest, WhatIsPromisedIsNoLongerTheEnginesAndIsNotOfferedAgain) {
  const Decision offer = settle(0, seconds(0), seconds(30));
  ASSERT_EQ(offer, (Decision{ProducerAction::offer, 20 * kGiB}));
  EXPECT_EQ(role_.engine_bytes(kDevice, 0), 20 * kGiB);
  EXPECT_EQ(observe(kCalm, 0, seconds(20)).action, ProducerAction::keep);
  role_.kept_promise();
  EXPECT_EQ(role_.engine_bytes(kDevice, 20 * kGiB), 20 * kGiB) << "counted once";
}

TEST_F(ProducerRoleTest, APromiseThatIsNotKeptInTimeLapses) {
  ASSERT_EQ(settle(0, seconds(0), seconds(30)).action, ProducerAction::offer);
  const Decision again = settle(0, seconds(35), seconds(60));
  EXPECT_EQ(again, (Decision{ProducerAction::offer, 20 * kGiB}));
}

TEST_F(ProducerRoleTest, WhatIsOnItsWayHomeIsNotReclaimedAgain) {
  ASSERT_EQ(settle(0, seconds(0), seconds(30)).action, ProducerAction::offer);
  role_.kept_promise();
  const Decision reclaim = observe(kSurge, 20 * kGiB, seconds(40));
  ASSERT_EQ(reclaim, (Decision{ProducerAction::reclaim, 20 * kGiB}));
  const auto state = std::make_shared<ReclaimState>(reclaim.bytes, start_, start_ + seconds(60));
  role_.reclaiming(state);
  EXPECT_EQ(observe(kSurge, 20 * kGiB, seconds(41)).action, ProducerAction::keep);
  state->finish({});  // at its deadline, with nothing back
  EXPECT_EQ(observe(kSurge, 20 * kGiB, seconds(42)),
            (Decision{ProducerAction::reclaim, 20 * kGiB}));
}

}  // namespace
}  // namespace aqua::runtime
