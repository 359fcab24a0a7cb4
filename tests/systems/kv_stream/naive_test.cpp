// SPDX-License-Identifier: Apache-2.0
// The planner beside its naive second.
#include "tests/systems/kv_stream/naive.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace aqua::kv_stream::test {
namespace {

void expect_same(double seconds, double naive, std::uint64_t seed) {
  EXPECT_NEAR(seconds, naive, 1e-9 * naive) << "seed " << seed;
}

// Each side of a split, as the naive second has it.
void expect_side(const PlanInput& in, const Side& side, bool prompts, bool tokens) {
  if (side.pipelines == 0) return;
  const auto cost =
      std::find_if(in.microbatches.begin(), in.microbatches.end(),
                   [&](const MicrobatchCost& each) { return each.requests == side.microbatch; });
  ASSERT_NE(cost, in.microbatches.end());
  const auto naive = naive_seconds(in, prompts, tokens, side.depth, *cost, side.swaps);
  ASSERT_EQ(naive.has_value(), side.fits);
  EXPECT_NEAR(side.seconds, naive.value_or(side.seconds), 1e-9 * side.seconds);
}

TEST(PlanBesideNaive, EachPolicyIsAsFastAsByBruteForce) {
  std::uint64_t fit = 0, swapped = 0;
  std::array<std::uint64_t, 4> won{};
  for (std::uint64_t seed = 1; seed <= 12000; ++seed) {
    const PlanInput in = random_input(seed);
    const std::map<Policy, double> naive = naive_plan(in);
    const auto made = plan(in);
    if (naive.empty()) {
      ASSERT_FALSE(made.ok()) << "seed " << seed;
      EXPECT_EQ(made.error().code, Code::resource_exhausted);
      continue;
    }
    ASSERT_TRUE(made.ok()) << "seed " << seed << ": " << made.error().message;
    fit += 1;
    swapped += made->best.token.swaps ? 1U : 0U;
    won.at(static_cast<std::size_t>(made->best.policy)) += 1;
    double least = naive.begin()->second;
    for (const auto& [policy, seconds] : naive) least = std::min(least, seconds);
    expect_same(made->best.seconds_per_request, least, seed);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto found = naive.find(static_cast<Policy>(i));
      const Outcome& outcome = made->outcomes[i];
      ASSERT_EQ(outcome.best.has_value(), found != naive.end()) << "seed " << seed << " " << i;
      if (outcome.best) expect_same(outcome.best->seconds_per_request, found->second, seed);
    }
  }
  EXPECT_GT(fit, 4000U);
  EXPECT_LT(fit, 11000U);
  EXPECT_GT(swapped, 20U);
  for (const std::uint64_t wins : won)
    EXPECT_GT(wins, 10U) << "each policy is the best somewhere, out of " << fit;
}

TEST(PlanBesideNaive, EverySplitThatIsExplainedFitsAndLastsAsLong) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(seed);
    const PlanInput in = random_input(seed);
    for (const Split& split : explain(in).value()) {
      const bool apart = split.prompt.pipelines > 0;
      expect_side(in, split.prompt, true, false);
      expect_side(in, split.token, !apart, true);
      EXPECT_LE(split.machines, in.machines);
    }
  }
}

}  // namespace
}  // namespace aqua::kv_stream::test
