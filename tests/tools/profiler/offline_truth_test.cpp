// SPDX-License-Identifier: Apache-2.0
// The search and the verdict against the simulator, in virtual time: nothing is late by chance.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/profiler/truth.hpp"
#include "tools/profiler/search/make_profile.hpp"

namespace aqua::profiler {
namespace {

// As by default. With 300, of which three may be late, the outcome is too much a matter of chance.
constexpr std::uint64_t kRequests = 1000;

TEST(OfflineTruth, IsFoundWithinAStepInNineteenOfTwentyRuns) {
  const sim::Ground ground = test::truth_ground();
  const sim::Trace trace = test::truth_trace();
  const RateRange range{};
  const double truth = test::truth(ground, trace, range, kRequests);
  ASSERT_GT(truth, range.from);
  ASSERT_LT(truth, range.to);
  int within = 0;
  std::size_t early = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::Offline engine(ground, trace, kRequests);
    Record record;
    ASSERT_TRUE(
        profile_llm(record, engine, {.range = range, .seed = 100 + seed, .bursts = {}}, {}).ok());
    early += engine.early;
    EXPECT_LE(record.evidence.probes.size(), 10u) << "2 * ceil(log2(19))";
    within += std::abs(record.profile.max_rps - truth) <= range.step + 1e-9 ? 1 : 0;
  }
  EXPECT_GE(within, 19) << "the truth is " << truth;
  EXPECT_GT(early, 20u) << "halving ends its loads early, met or missed";
}

TEST(OfflineTruth, ALoadCalledMetEarlyWouldHaveMetAtItsEnd) {
  const sim::Ground ground = test::truth_ground();
  const sim::Trace trace = test::truth_trace();
  int called = 0, wrong = 0;
  for (double rate = 1; rate <= 10; rate += 0.5) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const test::Played played = test::play(ground, trace, rate, kRequests, seed);
      if (!test::Replay(played, false).met()) continue;
      ++called;
      wrong += test::sustained(played) ? 0 : 1;
    }
  }
  EXPECT_GT(called, 50);
  EXPECT_EQ(wrong, 0) << "of " << called;
}

TEST(OfflineTruth, OfAWholeLoadIsWhatTheVerdictSays) {
  const sim::Ground ground = test::truth_ground();
  const sim::Trace trace = test::truth_trace();
  bool met = false, missed = false;
  for (double rate = 1; rate <= 10; rate += 0.5) {
    const test::Played played = test::play(ground, trace, rate, 300, 7);
    const bool is = test::sustained(played);
    EXPECT_EQ(test::Replay(played, true).met(), is) << rate;
    (is ? met : missed) = true;
  }
  EXPECT_TRUE(met && missed) << "the range has both";
}

}  // namespace
}  // namespace aqua::profiler
