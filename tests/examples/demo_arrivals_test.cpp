// SPDX-License-Identifier: Apache-2.0
// When requests of the demonstration arrive at a consumer, and from when their users wait.
#include <gtest/gtest.h>

#include "arrivals.hpp"

namespace aqua::example {
namespace {

using std::chrono::milliseconds;

nlohmann::json submitted(bool go, const std::vector<WorkItem>& items) {
  return {{"do", "submit"}, {"go", go}, {"items", items}};
}

const Arrivals::Clock::time_point kBegin{std::chrono::hours(1)};

TEST(Arrivals, CountFromTheSubmissionThatSaysSo) {
  Arrivals arrivals;
  arrivals.submit(submitted(true, {{.id = 1, .arrival_ms = 0}, {.id = 2, .arrival_ms = 50}}),
                  kBegin);
  EXPECT_EQ(arrivals.next(kBegin + milliseconds(10))->item.id, 1U);
  EXPECT_FALSE(arrivals.next(kBegin + milliseconds(49)));
  const auto second = arrivals.next(kBegin + milliseconds(70));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->item.id, 2U);
  EXPECT_EQ(second->at, kBegin + milliseconds(50));
  EXPECT_FALSE(arrivals.next(kBegin + milliseconds(70)));
}

// The same requests are served twice: by the second time all have long arrived by the first one's.
TEST(Arrivals, OfASecondServingAreTimedFromItsOwnBeginning) {
  Arrivals arrivals;
  const auto serving = submitted(true, {{.id = 1, .arrival_ms = 50}});
  arrivals.submit(serving, kBegin);
  ASSERT_TRUE(arrivals.next(kBegin + milliseconds(50)));
  const auto again = kBegin + milliseconds(1000);
  arrivals.submit(serving, again);
  EXPECT_FALSE(arrivals.next(again));
  const auto arrived = arrivals.next(again + milliseconds(60));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->at, again + milliseconds(50));
}

TEST(Arrivals, WhatIsSentToKeepTheEngineBusyArrivesAtOnce) {
  Arrivals arrivals;
  arrivals.submit(submitted(true, {}), kBegin);
  const auto later = kBegin + milliseconds(1000);
  arrivals.submit(submitted(false, {{.id = 7, .arrival_ms = 0}}), later);
  const auto arrived = arrivals.next(later);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->at, later);
}

}  // namespace
}  // namespace aqua::example
