// SPDX-License-Identifier: Apache-2.0
// The prefix cache in the simulator: what is computed once is fetched afterwards.
#include "tests/tools/sim/ground.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::sim::test {
namespace {

Scenario prefix_scenario() {
  Scenario scenario = small_scenario();
  scenario.prefix_cache = true;
  return scenario;
}

Workload prompts(std::uint64_t seed = 1) {
  return prefix_caching(mixed_trace(200), {.requests = 200, .per_second = 2, .prompt_tokens = 8192},
                        seed);
}

TEST(PrefixCache, LaterPromptsFetchWhatTheFirstComputed) {
  const Workload work = prompts();
  for (const char* policy : {"fcfs", "fcfs+aqua", "cfs+aqua", "cfs+free", "auto+aqua"}) {
    const RunOutcome outcome = play(prefix_scenario(), policy, work);
    const std::uint32_t shared = 8192 / 256 * 256 - 256;
    std::size_t hits = 0;
    std::uint64_t computed = 0;
    for (const RequestOutcome& request : outcome.requests) {
      if (request.cached_tokens > 0) {
        EXPECT_EQ(request.cached_tokens, shared) << policy;
        ++hits;
      }
      computed += request.prompt_tokens + request.output_tokens - 1;
    }
    EXPECT_GE(hits, 17u) << policy;  // of 20, all that came after the first was there
    const Totals& totals = outcome.totals;
    EXPECT_EQ(totals.cached_tokens, hits * shared);
    EXPECT_EQ(totals.prefill_tokens + totals.decode_tokens + totals.cached_tokens, computed);
    EXPECT_NEAR(totals.bytes_fetched, static_cast<double>(hits) * shared * 131072, 1) << policy;
    EXPECT_NEAR(totals.bytes_stored, shared * 131072.0, 1) << policy;
  }
}

TEST(PrefixCache, AHitIsFasterFromThePeerThanFromTheHost) {
  const Workload work = prompts();
  const auto hit_ttft = [&](const char* policy) {
    const RunOutcome outcome = play(prefix_scenario(), policy, work);
    double sum = 0;
    for (const RequestOutcome& request : outcome.requests) {
      if (request.cached_tokens > 0) sum += request.ttft();
    }
    return sum;
  };
  EXPECT_LT(hit_ttft("fcfs+aqua"), hit_ttft("fcfs"));
}

// A lender whose memory is full of cached prefixes: they give way to whoever is preempted.
TEST(PrefixCache, MakesRoomForSequencesThatArePreempted) {
  Scenario scenario = prefix_scenario();
  scenario.kv_tokens = 12'000;
  scenario.lent_bytes = 1.2e9;  // some 9,000 tokens
  const Workload work = prompts();
  const RunOutcome outcome = play(scenario, "cfs+aqua", work);
  EXPECT_GT(outcome.totals.bytes_stored, 0.9e9);
  EXPECT_GT(outcome.totals.swaps_out, 50u);
  EXPECT_GT(outcome.totals.bytes_out_peer, 0.5 * outcome.totals.bytes_out);
  for (const RequestOutcome& request : outcome.requests) EXPECT_FALSE(request.refused());
}

TEST(PrefixCache, SkippingChangesNothing) {
  Scenario with = prefix_scenario(), without = with;
  without.skip = false;
  const auto json = [](const Scenario& scenario) {
    const Ground ground = must(resolve(scenario, {}));
    return render_json(must(compare(ground, must(parse_policies("fcfs,cfs+aqua,auto+aqua")), {1, 2},
                                    {}, [](std::uint64_t seed) { return prompts(seed); }, {})));
  };
  EXPECT_EQ(json(with), json(without));
}

}  // namespace
}  // namespace aqua::sim::test
