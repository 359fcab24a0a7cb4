// SPDX-License-Identifier: Apache-2.0
// The table of docs/plan/pipelines.md: OPT-66B on machines of two A100 of 80 GB, beside the paper's
// Table 2. Times are of a roofline (half of the FLOPs, four fifths of the bandwidth), lengths ours.
#include <gtest/gtest.h>

#include "aqua/kv_stream/plan.hpp"

namespace aqua::kv_stream::test {
namespace {

PlanInput opt_66b(std::uint32_t machines) {
  PlanInput in{.machines = machines,
               .machine_bytes = 160'000'000'000,
               .reserved_bytes = 8'000'000'000,
               .layers = 64,
               .layer_weight_bytes = 2'038'431'744,
               .layer_kv_bytes = 36'864,
               .prompt_tokens = 1000,
               .new_tokens = 200,
               .reserved_tokens = 1000,
               .stream_overhead = 1.05,
               .streaming_buffers = 0};
  for (const std::uint32_t requests : {1U, 2U, 4U, 8U, 16U, 32U}) {
    in.microbatches.push_back({requests, 0.42 * requests, 0.041 + 0.0008 * requests});
  }
  return in;
}

struct Row {
  std::uint32_t machines, prompt_depth, token_depth;
  double over_colocated, over_dp;  // seconds of those by seconds of the disaggregated
};

TEST(PlanOfThePaper, SplitsAreThoseOfTable2ButForFourteenMachines) {
  const Row rows[] = {{2, 1, 1, 0.29, 0.60},  {4, 2, 2, 1.05, 0.97},  {6, 2, 4, 1.12, 0.98},
                      {8, 3, 5, 1.20, 1.07},  {10, 4, 6, 1.39, 1.13}, {12, 5, 7, 1.31, 1.03},
                      {14, 6, 8, 1.37, 1.11},  // 5 and 9 in the paper
                      {16, 6, 10, 1.22, 1.07}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.machines);
    const Plan made = plan(opt_66b(row.machines)).value();
    const Split& apart = made.outcomes[2].best.value();
    EXPECT_EQ(apart.prompt.depth, row.prompt_depth);
    EXPECT_EQ(apart.token.depth, row.token_depth);
    const auto times = [&](std::size_t policy) {
      return made.outcomes.at(policy).best->seconds_per_request / apart.seconds_per_request;
    };
    EXPECT_NEAR(times(0), row.over_colocated, 0.006);
    EXPECT_NEAR(times(1), row.over_dp, 0.006);
  }
}

TEST(PlanOfThePaper, SwappingDoesNotPayOverPcie) {
  PlanInput in = opt_66b(16);
  in.away = {.host_bytes = 1'000'000'000'000, .host_bytes_per_second = 50e9};
  const Plan made = plan(in).value();
  for (const Outcome& outcome : made.outcomes) EXPECT_FALSE(outcome.best->token.swaps);
}

TEST(PlanOfThePaper, EverySplitOfTheMostMachinesIsTried) {
  EXPECT_EQ(explain(opt_66b(kMostMachines))->size(), 150'079U);
}

}  // namespace
}  // namespace aqua::kv_stream::test
