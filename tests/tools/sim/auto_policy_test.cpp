// SPDX-License-Identifier: Apache-2.0
// auto in a burst: no worse than leaving lent memory or fairness out, with both tiers in use.
#include <algorithm>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim::test {
namespace {

Workload bursts(double rate, std::uint64_t seed) {
  return burst(mixed_trace(300), {.per_second = rate, .factor = 3, .after = 60}, seed);
}

TEST(AutoPolicy, InABurstItIsNeverWorseThanTheOthers) {
  for (const double kv_tokens : {8'000.0, 20'000.0, 200'000.0}) {
    for (const double rate : {1.0, 4.0}) {
      Scenario scenario = small_scenario();
      scenario.kv_tokens = kv_tokens;
      const Workload work = bursts(rate, 1);
      double best_ttft = 1e9, best_goodput = 0;
      for (const char* policy : {"fcfs", "cfs+dram", "cfs+aqua"}) {
        const Metrics metrics = measure(play(scenario, policy, work), {});
        best_ttft = std::min(best_ttft, metrics.ttft_p99_s);
        best_goodput = std::max(best_goodput, metrics.goodput_rps);
      }
      const Metrics mine = measure(play(scenario, "auto+aqua", work), {});
      EXPECT_LE(mine.ttft_p99_s, 1.05 * best_ttft) << kv_tokens << " " << rate;
      EXPECT_GE(mine.goodput_rps, 0.98 * best_goodput) << kv_tokens << " " << rate;
    }
  }
}

TEST(AutoPolicy, WhenLentMemoryIsFullItPagesToTheHostAsWell) {
  Scenario scenario = small_scenario();
  scenario.lent_bytes = 1e9;
  const Workload work = bursts(4, 2);
  const Totals totals = play(scenario, "auto+aqua", work).totals;
  EXPECT_GT(totals.bytes_out_peer, 0);
  EXPECT_GT(totals.bytes_out, 1.5 * totals.bytes_out_peer);
  EXPECT_GT(totals.peak_host_bytes, 0);
}

// Each copy pays the link's latency: 64 µs to the peer, 10 µs to the host.
TEST(AutoPolicy, WhereTheHostHasABlockBackSoonerItPagesThere) {
  const Workload work = bursts(4, 2);
  const RunOutcome near = play(small_scenario(), "auto+aqua+blocks", work);
  EXPECT_GT(near.totals.bytes_out, 0);
  EXPECT_EQ(near.totals.bytes_out_peer, 0);
  const RunOutcome host = play(small_scenario(), "auto+dram+blocks", work);
  EXPECT_EQ(measure(near, {}).ttft_p99_s, measure(host, {}).ttft_p99_s);
}

// It is told the longest answer of all as each one's limit, and beside a long prompt what is left.
TEST(AutoPolicy, ALimitBeyondTheDeviceIsNoRefusal) {
  Trace trace = constant_trace(100, 3'000, 3);
  trace.requests[1] = {.prompt_tokens = 19'000, .output_tokens = 10};
  const RunOutcome outcome = play(small_scenario(), "auto+aqua", tiled(trace, 3));
  EXPECT_EQ(measure(outcome, {}).refused, 0u);
}

}  // namespace
}  // namespace aqua::sim::test
