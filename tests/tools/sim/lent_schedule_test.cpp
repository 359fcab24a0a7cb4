// SPDX-License-Identifier: Apache-2.0
// A lender that takes its memory back while an engine has sequences there: nothing is lost, nobody
// waits for ever, and it comes back in time.
#include <algorithm>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/engine/random.hpp"

namespace aqua::sim::test {
namespace {

constexpr double kGB = 1e9;

// Forty seconds of overload. Of twelve gigabytes the lender wants all back at 10 s, and lends them
// again at 20 s. It stays fair meanwhile, so that sequences are on the host then.
Scenario taken_back_and_lent_again() {
  Scenario scenario = small_scenario();
  scenario.scheduler.fcfs_on_slow_tier = false;
  scenario.lent_bytes = 12 * kGB;
  scenario.lent_changes = {{picos(10), 0}, {picos(20), 12 * kGB}};
  return scenario;
}

Workload overload() {
  return must(poisson(mixed_trace(500), {.requests = 480, .per_second = 12}, 3));
}

const MemorySample& at(const RunOutcome& outcome, double second) {
  const auto found =
      std::find_if(outcome.memory.begin(), outcome.memory.end(),
                   [&](const MemorySample& sample) { return sample.at >= picos(second); });
  EXPECT_NE(found, outcome.memory.end());
  return *found;
}

class LentSchedule : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Policies, LentSchedule, ::testing::Values("cfs+aqua", "auto+aqua"),
                         [](const auto& of) { return of.param.substr(0, 3); });

TEST_P(LentSchedule, SequencesMoveOffAndBackAndEveryTokenIsAccountedFor) {
  const RunOutcome outcome = play(taken_back_and_lent_again(), GetParam().c_str(), overload());
  EXPECT_GT(at(outcome, 9).peer_bytes, kGB) << "there was nothing to take back";
  EXPECT_EQ(at(outcome, 19).peer_bytes, 0);
  EXPECT_GT(at(outcome, 19).host_bytes, kGB);
  EXPECT_GT(at(outcome, 25).peer_bytes, kGB);
  const Totals& totals = outcome.totals;
  EXPECT_GT(totals.bytes_evacuated, kGB);
  EXPECT_GT(totals.bytes_promoted, kGB);
  std::uint64_t computed = 0;
  for (const RequestOutcome& request : outcome.requests) {
    ASSERT_NE(request.finish, kNever);
    computed += request.prompt_tokens + request.output_tokens - 1;
  }
  EXPECT_EQ(totals.prefill_tokens + totals.decode_tokens, computed);
  EXPECT_EQ(totals.swaps_in, totals.swaps_out);
  EXPECT_DOUBLE_EQ(totals.bytes_in, totals.bytes_out);
}

TEST_P(LentSchedule, WhatIsStillLentStaysAndCostsLess) {
  Scenario half = taken_back_and_lent_again();
  half.lent_changes = {{picos(10), 6 * kGB}};
  const RunOutcome outcome = play(half, GetParam().c_str(), overload());
  EXPECT_GT(at(outcome, 19).peer_bytes, kGB);
  EXPECT_LE(at(outcome, 19).peer_bytes, 6 * kGB);
  EXPECT_LT(
      outcome.totals.bytes_evacuated,
      play(taken_back_and_lent_again(), GetParam().c_str(), overload()).totals.bytes_evacuated);
}

// Any times and amounts, also while a reclaim is under way.
TEST(LentSchedules, NobodyWaitsForEverWhateverIsTakenWhenever) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Scenario scenario = taken_back_and_lent_again();
    scenario.lent_changes.clear();
    scenario.scheduler.fcfs_on_slow_tier = seed % 2 == 0;
    Random random(seed);
    for (double second = 1; second < 40; second += 4 * random.uniform())
      scenario.lent_changes.push_back({picos(second), 12 * kGB * random.uniform()});
    for (const char* policy :
         {"cfs+aqua", "las+aqua", "cfs+aqua+blocks", "auto+aqua", "auto+aqua+blocks"}) {
      const RunOutcome outcome = play(scenario, policy, overload());
      for (const RequestOutcome& request : outcome.requests)
        ASSERT_NE(request.finish, kNever) << policy << " " << seed;
      EXPECT_DOUBLE_EQ(outcome.totals.bytes_in, outcome.totals.bytes_out) << policy << " " << seed;
    }
  }
}

TEST(LentSchedules, AreNoBusinessOfThoseWhoPageElsewhere) {
  Scenario never = taken_back_and_lent_again();
  never.lent_changes.clear();
  for (const char* policy : {"fcfs", "cfs+dram", "cfs+free", "auto+dram"}) {
    EXPECT_EQ(play(taken_back_and_lent_again(), policy, overload()).makespan,
              play(never, policy, overload()).makespan)
        << policy;
  }
}

TEST(LentSchedules, ThatCannotBeAreRefused) {
  const auto refused = [](const Scenario& scenario) {
    const Ground ground = must(resolve(scenario, {}));
    const auto outcome = simulate(ground, must(parse_policy("cfs+aqua")), overload());
    return outcome.ok() ? "" : outcome.error().message;
  };
  Scenario unordered = taken_back_and_lent_again();
  std::swap(unordered.lent_changes[0], unordered.lent_changes[1]);
  EXPECT_NE(refused(unordered).find("order"), std::string::npos);
  Scenario cached = taken_back_and_lent_again();
  cached.prefix_cache = true;
  EXPECT_NE(refused(cached).find("prefix"), std::string::npos);
}

}  // namespace
}  // namespace aqua::sim::test
