// SPDX-License-Identifier: Apache-2.0
#include "tools/profiler/load/verdict.hpp"

#include <gtest/gtest.h>

namespace aqua::profiler {
namespace {

constexpr Sla kSla{.ttft_s = 1, .tbt_s = 0.1};

TEST(Verdict, ThreeOfThreeHundredMayBeLate) {
  EXPECT_EQ(allowed_over(300, 0.99), 3u);
  EXPECT_EQ(allowed_over(100, 0.99), 1u);
  EXPECT_EQ(allowed_over(99, 0.99), 0u);
  EXPECT_EQ(allowed_over(0, 0.99), 0u);
}

TEST(Verdict, IsMissedAsSoonAsTheRestCannotMendIt) {
  Verdict verdict(kSla, 300, 0, true);
  for (int late = 0; late < 3; ++late) {
    verdict.first_token(1.5);
    EXPECT_EQ(verdict.standing({}), Standing::open);
  }
  EXPECT_EQ(verdict.standing({.overdue = 1, .half = 1}), Standing::missed)
      << "one that still waits counts";
  verdict.first_token(1);
  EXPECT_EQ(verdict.standing({}), Standing::missed) << "under a second, not a second";
}

TEST(Verdict, IsMissedForTheTimeBetweenTokensToo) {
  Verdict verdict(kSla, 10, 200, true);
  verdict.gap(0.2);
  verdict.gap(0.2);
  EXPECT_EQ(verdict.standing({}), Standing::open);
  verdict.gap(0.2);
  EXPECT_EQ(verdict.standing({}), Standing::missed);
}

TEST(Verdict, OfAWholeLoadIsMetOnlyAtItsEnd) {
  Verdict verdict(kSla, 10, 10, true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(verdict.standing({}), Standing::open);
    verdict.first_token(0.1);
    verdict.gap(0.01);
  }
  EXPECT_EQ(verdict.standing({}), Standing::met);
}

TEST(Verdict, IsMetHalfwayWhereBothAreUnderHalfTheirLimits) {
  Verdict verdict(kSla, 10, 10, false);
  for (int i = 0; i < 4; ++i) verdict.first_token(0.4);
  for (int i = 0; i < 5; ++i) verdict.gap(0.04);
  EXPECT_EQ(verdict.standing({}), Standing::open);
  verdict.first_token(0.4);
  EXPECT_EQ(verdict.standing({.overdue = 1, .half = 1}), Standing::missed)
      << "of ten none may be late";
  EXPECT_EQ(verdict.standing({}), Standing::met);
}

TEST(Verdict, IsNotMetHalfwayOverHalfALimit) {
  Verdict verdict(kSla, 10, 10, false);
  for (int i = 0; i < 8; ++i) verdict.first_token(0.4);
  for (int i = 0; i < 8; ++i) verdict.gap(0.06);
  EXPECT_EQ(verdict.standing({}), Standing::open);
}

TEST(Verdict, IsNotMetHalfwayWhileRequestsWaitOverHalfTheLimit) {
  Verdict verdict(kSla, 10, 0, false);
  for (int i = 0; i < 5; ++i) verdict.first_token(0.1);
  EXPECT_EQ(verdict.standing({.half = 1}), Standing::open);
  EXPECT_EQ(verdict.standing({}), Standing::met);
}

TEST(Verdict, OfAHundredThousandMillionTokensTakesNoRoomBeforeTheyCome) {
  EXPECT_EQ(Verdict(kSla, 10, 500'000'000'000, true).standing({}), Standing::open);
}

TEST(Verdict, CountsAFailureAsNeverAnswered) {
  Verdict verdict(kSla, 10, 0, true);
  verdict.failed();
  EXPECT_EQ(verdict.standing({}), Standing::missed);
}

TEST(Verdict, CountsOneThatWasLateAndThenFailedOnce) {
  Verdict verdict(kSla, 100, 0, true);
  verdict.first_token(1.5);
  verdict.failed(1.5);
  EXPECT_EQ(verdict.standing({}), Standing::open) << "one of a hundred may";
  for (int i = 0; i < 98; ++i) verdict.first_token(0.1);
  EXPECT_EQ(verdict.standing({}), Standing::open) << "ninety-nine are known";
  verdict.first_token(0.1);
  EXPECT_EQ(verdict.standing({}), Standing::met);
}

TEST(Verdict, CountsOneThatWasInTimeAndThenFailedAsLate) {
  Verdict verdict(kSla, 10, 0, true);
  verdict.first_token(0.1);
  verdict.failed(0.1);
  EXPECT_EQ(verdict.standing({}), Standing::missed);
}

TEST(Verdict, OfNothingIsMissed) {
  EXPECT_EQ(Verdict(kSla, 10, 10, true).final(), Standing::missed);
}

TEST(Verdict, ShowsQuantiles) {
  Verdict verdict(kSla, 100, 0, true);
  for (int i = 1; i <= 100; ++i) verdict.first_token(i / 100.0);
  EXPECT_DOUBLE_EQ(verdict.quantiles().ttft_p50_s, 0.5);
  EXPECT_DOUBLE_EQ(verdict.quantiles().ttft_s, 0.99);
}

}  // namespace
}  // namespace aqua::profiler
