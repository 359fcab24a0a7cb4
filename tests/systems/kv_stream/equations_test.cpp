// SPDX-License-Identifier: Apache-2.0
// The paper's equations by hand, where it is right and where it errs.
#include "aqua/kv_stream/equations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/systems/kv_stream/naive.hpp"

namespace aqua::kv_stream::test {
namespace {

double colocated(std::uint32_t depth, double prompt, double token, std::uint64_t tokens) {
  return inverse_throughput(depth, prompt, token_steps(token, tokens));
}

TEST(Equations, PromptDepthCountsWholeLayers) {
  // OPT-66B on machines of 160 GB: 12 x 9216^2 weights of 2 bytes, 16 prompts of 1000 tokens.
  EXPECT_EQ(prompt_depth({64, 160'000'000'000, 2'038'431'744, 16'000 * 36'864, 0}), 2U);
  EXPECT_EQ(prompt_depth({9, 10, 3, 1, 0}), 5U) << "two layers fit; (1) has 9 x 4 / 10, hence 4";
  EXPECT_EQ(prompt_depth({9, 3, 3, 1, 0}), std::nullopt);
}

TEST(Equations, TokenDepthCountsTheKvOfAllMicrobatchesInEachLayer) {
  EXPECT_EQ(token_depth({6, 12, 2, 0, 1}), 2U) << "as (2): 6 x 2 / (12 - 6)";
  EXPECT_EQ(token_depth({7, 14, 2, 0, 1}), 4U) << "(2) has 7 x 2 / (14 - 7) = 2: 4 layers x 4 > 14";
  EXPECT_EQ(token_depth({7, 8, 2, 0, 1}), std::nullopt);
}

TEST(Equations, ColocatedPipelinesWaitForWhatIsShorter) {
  EXPECT_DOUBLE_EQ(colocated(4, 2, 1, 5), 7.75) << "figure 3: Y = 2t, four stages";
  EXPECT_DOUBLE_EQ(colocated(4, 10, 1, 20), 36.75) << "figure 26: Y = 10t";
  EXPECT_DOUBLE_EQ(colocated(4, 1, 2, 3), 7.75) << "(3) has 6.25, less than the 7 of the work";
  for (const auto& [prompt, token] : {std::pair{2.0, 1.0}, {10.0, 1.0}, {1.0, 2.0}, {3.0, 3.0}}) {
    for (std::uint32_t depth = 1; depth <= 6; ++depth) {
      EXPECT_NEAR(colocated(depth, prompt, token, 3), played(depth, {prompt, token, token, token}),
                  1e-12);
    }
  }
}

TEST(Equations, DisaggregationPaysBelowTwoLessTheDthPart) {
  EXPECT_DOUBLE_EQ(least_ratio_that_pays(4, 1).value(), 1);
  EXPECT_DOUBLE_EQ(least_ratio_that_pays(4, 1.5).value(), 3);
  EXPECT_EQ(least_ratio_that_pays(4, 1.75), std::nullopt);
  EXPECT_EQ(least_ratio_that_pays(4, 1.9), std::nullopt) << "the paper allows every m below 2";
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> times(1, 2), overheads(1, 2.1), ratios(1, 40);
  for (int i = 0; i < 5000; ++i) {
    const auto machines = static_cast<std::uint32_t>(2 + random() % 15);
    const double token = times(random), overhead = overheads(random), ratio = ratios(random);
    const std::uint64_t tokens = 1 + random() % 50;
    const double apart = overhead * ratio * token + static_cast<double>(tokens) * token;
    const auto least = least_ratio_that_pays(machines, overhead);
    EXPECT_EQ(least && ratio > *least, apart < colocated(machines, ratio * token, token, tokens));
  }
}

TEST(Equations, IdealSplitGivesBothSidesTheSameTime) {
  const IdealSplit split = ideal_split(4, 10, 1, 10, 1);
  EXPECT_DOUBLE_EQ(split.prompt_machines, 2) << "figure 26: two and two";
  EXPECT_DOUBLE_EQ(split.token_machines, 2);
  const IdealSplit part = ideal_split(7, 3, 1, 10, 1.1);
  EXPECT_DOUBLE_EQ(1.1 * 7 * 3 / part.prompt_machines, 10 * 7 * 1 / part.token_machines);
  EXPECT_NE(part.prompt_machines, std::floor(part.prompt_machines)) << "no number of machines";
}

}  // namespace
}  // namespace aqua::kv_stream::test
