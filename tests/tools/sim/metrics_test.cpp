// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/report/metrics.hpp"

#include <gtest/gtest.h>

namespace aqua::sim {
namespace {

RequestOutcome request(double arrival, double first, double finish, std::uint32_t output) {
  return {.arrival = picos(arrival),
          .first_token = picos(first),
          .finish = picos(finish),
          .prompt_tokens = 1,
          .output_tokens = output};
}

TEST(Metrics, QuantileIsTheNearestRank) {
  std::vector<double> values{5, 1, 4, 2, 3};
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 0.99), 5);
  EXPECT_EQ(quantile(values, 0), 1);
  std::vector<double> none;
  EXPECT_EQ(quantile(none, 0.5), 0);
}

TEST(Metrics, GoodputCountsRequestsWithinBothGoals) {
  RunOutcome outcome;
  outcome.requests = {request(0, 0.5, 1.5, 11),  // TTFT 0.5, TPOT 0.1: good
                      request(0, 2, 2.1, 11),    // late
                      request(0, 0.5, 4.5, 11),  // slow
                      request(1, 1.5, 1.5, 1)};  // one token: no TPOT
  outcome.requests.push_back({.arrival = 0});    // refused
  outcome.makespan = picos(4);
  const Metrics metrics = measure(outcome, {.ttft_s = 1, .tpot_s = 0.1});
  EXPECT_DOUBLE_EQ(metrics.goodput_rps, 0.5);
  EXPECT_DOUBLE_EQ(metrics.within_sla, 0.4);
  EXPECT_EQ(metrics.refused, 1u);
  EXPECT_NEAR(metrics.tpot_mean_s, (0.1 + 0.01 + 0.4) / 3, 1e-12);
}

// 1, 2, 3: deviation 1, t for two degrees of freedom 4.303, 4.303 / sqrt(3) = 2.484.
TEST(Metrics, ConfidenceIsStudents) {
  const Interval interval = confidence({1, 2, 3});
  EXPECT_DOUBLE_EQ(interval.mean, 2);
  EXPECT_NEAR(interval.half_width, 2.484, 1e-3);
  EXPECT_EQ(confidence({7}).half_width, 0);
}

TEST(Metrics, SeriesKeepsItsEndsAndHalvesItsSamples) {
  MemorySeries series(10);
  for (int i = 0; i < 5000; ++i) series.add({.at = series.next()});
  EXPECT_LE(series.samples().size(), 2001u);
  EXPECT_EQ(series.samples().front().at, 0);
  EXPECT_GT(series.samples().back().at, 5000 * 10);
}

}  // namespace
}  // namespace aqua::sim
