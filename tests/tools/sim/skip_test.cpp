// SPDX-License-Identifier: Apache-2.0
// Skipping ahead over equal iterations changes no figure: the JSON and the CSV are the same bytes.
#include "tests/tools/sim/ground.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::sim::test {
namespace {

Comparison run(bool skip, double kv_tokens, double rate) {
  Scenario scenario = small_scenario();
  scenario.kv_tokens = kv_tokens;
  scenario.skip = skip;
  const Ground ground = must(resolve(scenario, {}));
  const auto policies =
      must(parse_policies("fcfs,vtc,las+aqua,cfs+dram,cfs+aqua,cfs+free,cfs+aqua+blocks,auto+aqua,"
                          "fcfs+recompute,fcfs+pie,fcfs+pie+aqua,fcfs+ondemand"));
  const Trace trace = mixed_trace(300);
  const auto make = [&](std::uint64_t seed) {
    return burst(trace, {.per_second = rate, .after = 60}, seed);
  };
  return must(compare(ground, policies, {1, 2}, {}, make, {}));
}

TEST(Skip, GivesTheSameBytesAsEveryIterationByItself) {
  for (const double kv_tokens : {8'000.0, 20'000.0, 200'000.0}) {
    for (const double rate : {0.5, 5.0}) {
      const Comparison with = run(true, kv_tokens, rate), without = run(false, kv_tokens, rate);
      EXPECT_EQ(render_json(with), render_json(without)) << kv_tokens << " " << rate;
      EXPECT_EQ(render_csv(with), render_csv(without)) << kv_tokens << " " << rate;
      // It would be no test if nothing were skipped.
      EXPECT_LT(with.runs[0].outcome.totals.decisions, without.runs[0].outcome.totals.decisions);
    }
  }
}

TEST(Skip, SameSeedSameBytes) {
  EXPECT_EQ(render_json(run(true, 20'000, 5)), render_json(run(true, 20'000, 5)));
}

}  // namespace
}  // namespace aqua::sim::test
