// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/refused_imports.hpp"

#include <gtest/gtest.h>

namespace aqua::runtime {
namespace {

using namespace std::chrono_literals;

TEST(RefusedImports, AreAskedForEverMoreRarelyAndNeverLessThanOnceInSixtyFourSeconds) {
  RefusedImports refusals;
  RefusedImports::Clock::time_point now{100s};
  EXPECT_LT(refusals.until(), now);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
    EXPECT_EQ(refusals.refused(Code::invalid_argument, now), wait);
    EXPECT_EQ(refusals.until(), now + wait);
    now = refusals.until();
  }
}

TEST(RefusedImports, OfOneRoundCountOnce) {
  RefusedImports refusals;
  const RefusedImports::Clock::time_point now{100s};
  EXPECT_EQ(refusals.refused(Code::invalid_argument, now), 1s);
  EXPECT_EQ(refusals.refused(Code::invalid_argument, now + 500ms), 0s);
  EXPECT_EQ(refusals.until(), now + 1s);
}

TEST(RefusedImports, ThatMayPassCostAMomentEach) {
  RefusedImports refusals;
  const RefusedImports::Clock::time_point now{100s};
  for (const Code code : {Code::unavailable, Code::aborted, Code::resource_exhausted,
                          Code::not_found, Code::data_loss}) {
    EXPECT_EQ(refusals.refused(code, now), 0s);
    EXPECT_EQ(refusals.until(), now + RefusedImports::kPassing);
  }
}

TEST(RefusedImports, BeginAnewAfterAsLongWithoutOneAndWithOtherProducers) {
  RefusedImports refusals;
  const RefusedImports::Clock::time_point now{100s};
  EXPECT_EQ(refusals.refused(Code::failed_precondition, now), 1s);
  EXPECT_EQ(refusals.refused(Code::failed_precondition, now + 1s), 2s);
  EXPECT_EQ(refusals.refused(Code::failed_precondition, now + 5s + 1ms), 1s);
  refusals.reset();
  EXPECT_LT(refusals.until(), now);
}

}  // namespace
}  // namespace aqua::runtime
