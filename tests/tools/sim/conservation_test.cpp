// SPDX-License-Identifier: Apache-2.0
// Nothing is lost or made: every token is computed once or accounted for, every byte that went
// out came back or its request had ended.
#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

class Conservation : public ::testing::TestWithParam<const char*> {};

TEST_P(Conservation, EveryTokenIsAccountedFor) {
  const Workload work = must(poisson(mixed_trace(500), {.requests = 400, .per_second = 12}, 3));
  const RunOutcome outcome = play(small_scenario(), GetParam(), work);
  std::uint64_t computed = 0, given = 0;
  for (std::size_t i = 0; i < work.requests.size(); ++i) {
    const RequestOutcome& request = outcome.requests[i];
    ASSERT_FALSE(request.refused());
    EXPECT_GE(request.first_token, work.requests[i].arrival);
    EXPECT_GE(request.finish, request.first_token);
    computed += request.prompt_tokens + request.output_tokens - 1;
    given += request.output_tokens;
  }
  const Totals& totals = outcome.totals;
  EXPECT_EQ(totals.prefill_tokens + totals.decode_tokens + totals.cached_tokens, computed);
  EXPECT_EQ(totals.output_tokens, given);
  EXPECT_EQ(totals.swaps_in, totals.swaps_out);
  EXPECT_DOUBLE_EQ(totals.bytes_in, totals.bytes_out);
  EXPECT_EQ(totals.recomputed_tokens > 0, totals.recomputes > 0);
  EXPECT_LE(totals.busy, outcome.makespan);
}

INSTANTIATE_TEST_SUITE_P(Policies, Conservation,
                         ::testing::Values("fcfs", "vtc", "las+aqua", "cfs+dram", "cfs+aqua",
                                           "cfs+free", "cfs+aqua+blocks", "auto+aqua"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '+', '_');
                           return name;
                         });

TEST(ConservationOfFairPolicies, TheyDoPreemptHere) {
  const Workload work = must(poisson(mixed_trace(500), {.requests = 400, .per_second = 12}, 3));
  EXPECT_GT(play(small_scenario(), "cfs+aqua", work).totals.swaps_out, 100u);
}

TEST(ConservationOfRefusals, ARequestLargerThanTheDeviceIsRefusedAndCounted) {
  Scenario scenario = small_scenario();
  Trace trace = constant_trace(100, 10, 3);
  trace.requests[1].prompt_tokens = 30'000;
  const RunOutcome outcome = play(scenario, "cfs+aqua", must(tiled(trace, 3)));
  EXPECT_TRUE(outcome.requests[1].refused());
  const Metrics metrics = measure(outcome, {});
  EXPECT_EQ(metrics.completed, 2u);
  EXPECT_EQ(metrics.refused, 1u);
  EXPECT_NEAR(metrics.within_sla, 2.0 / 3, 1e-12);
}

}  // namespace
}  // namespace aqua::sim::test
