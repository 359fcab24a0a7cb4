// SPDX-License-Identifier: Apache-2.0
// auto in a burst: no worse than leaving lent memory or fairness out, with both tiers in use.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/tools/sim/ground.hpp"
#include "tools/sim/engine/arrivals.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim::test {
namespace {

Workload bursts(double rate, std::uint64_t seed) {
  return must(burst(mixed_trace(300), {.per_second = rate, .factor = 3, .after = 60}, seed));
}

// `under` gives outcomes by policy, several where several engines serve.
void expect_never_worse(const std::function<std::vector<RunOutcome>(const char*)>& under) {
  const std::vector<RunOutcome> mine = under("auto+aqua");
  std::vector<double> best_ttft(mine.size(), 1e9), best_goodput(mine.size());
  for (const char* policy : {"fcfs", "cfs+dram", "cfs+aqua"}) {
    const std::vector<RunOutcome> theirs = under(policy);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const Metrics metrics = measure(theirs[i], {});
      best_ttft[i] = std::min(best_ttft[i], metrics.ttft_p99_s);
      best_goodput[i] = std::max(best_goodput[i], metrics.goodput_rps);
    }
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const Metrics metrics = measure(mine[i], {});
    EXPECT_LE(metrics.ttft_p99_s, 1.05 * best_ttft[i]) << "engine " << i;
    EXPECT_GE(metrics.goodput_rps, 0.98 * best_goodput[i]) << "engine " << i;
  }
}

TEST(AutoPolicy, InABurstItIsNeverWorseThanTheOthers) {
  for (const double kv_tokens : {8'000.0, 20'000.0, 200'000.0}) {
    for (const double rate : {1.0, 4.0}) {
      SCOPED_TRACE(std::to_string(kv_tokens) + " " + std::to_string(rate));
      Scenario scenario = small_scenario();
      scenario.kv_tokens = kv_tokens;
      const Workload work = bursts(rate, 1);
      expect_never_worse([&](const char* policy) {
        return std::vector<RunOutcome>{play(scenario, policy, work)};
      });
    }
  }
}

// In the midst of the burst, which begins after six seconds, half of twelve gigabytes goes back.
TEST(AutoPolicy, WhereALenderTakesHalfBackItIsNeverWorseThanTheOthers) {
  for (const double kv_tokens : {8'000.0, 20'000.0}) {
    SCOPED_TRACE(kv_tokens);
    Scenario scenario = small_scenario();
    scenario.kv_tokens = kv_tokens;
    scenario.lent_bytes = 12e9;
    scenario.lent_changes = {{picos(30), 6e9}};
    const Workload work = bursts(4, 1);
    EXPECT_GT(play(scenario, "auto+aqua", work).totals.bytes_evacuated, 0);
    expect_never_worse(
        [&](const char* policy) { return std::vector<RunOutcome>{play(scenario, policy, work)}; });
  }
}

// An engine with a load of its own that borrows what others do not. All outlive it.
class BorrowingEngine {
 public:
  BorrowingEngine(const Ground& ground, const PolicyName& policy, const Workload& work,
                  SlabMarket::Borrower& borrower, Network& network, const PortLinks& lender)
      : scheduler_(
            must(schedule::make_scheduler(policy.scheduler, scheduler_options(ground, policy)))),
        swap_(policy.tier == Tier::peer ? &borrower : nullptr),
        table_(work),
        engine_(
            table_, ground.cost, *scheduler_, swap_, network, nullptr,
            {.paging = paging_of(ground, policy.method, add_gpu(network, "engine", ground), lender),
             .kv_bytes_per_token = ground.kv_bytes_per_token,
             .block_tokens = ground.scenario.server.kv_block_tokens,
             .answer_limit = policy.scheduler == "auto" ? kLongestAnswer : 0}),
        arrivals_(work, engine_) {}
  [[nodiscard]] std::vector<Actor*> actors() { return {&arrivals_, &engine_}; }
  [[nodiscard]] RunOutcome outcome() { return std::move(engine_).outcome(); }

 private:
  static constexpr std::uint32_t kLongestAnswer = 400;  // of mixed_trace()

  std::unique_ptr<schedule::Scheduler> scheduler_;
  SwapSpace swap_;
  RequestTable table_;
  Engine engine_;
  Arrivals arrivals_;
};

std::vector<RunOutcome> play_two(const Scenario& scenario, const char* policy,
                                 const Workload& first, const Workload& second) {
  const Ground ground = must(resolve(scenario, {}));
  const PolicyName named = must(parse_policy(policy));
  Network network;
  const PortLinks lender = add_gpu(network, "lender", ground);
  SlabMarket market(scenario.slab_bytes, ground.cost.roof().bytes_per_second, 2);
  (void)market.offer(scenario.lent_bytes, 0);
  BorrowingEngine one(ground, named, first, market.borrower(0), network, lender);
  BorrowingEngine other(ground, named, second, market.borrower(1), network, lender);
  std::vector<Actor*> actors = one.actors();
  for (Actor* const actor : other.actors()) actors.push_back(actor);
  EXPECT_TRUE(run_world(network, actors)) << policy << ": somebody waits for ever";
  std::vector<RunOutcome> outcomes;
  outcomes.push_back(one.outcome());
  outcomes.push_back(other.outcome());
  return outcomes;
}

TEST(AutoPolicy, TwoBorrowersOfOneLenderShareWhatItLendsAndNeitherIsWorseOff) {
  Scenario scenario = small_scenario();
  scenario.lent_bytes = 4e9;
  const Workload first = bursts(4, 1), second = bursts(4, 2);
  const std::vector<RunOutcome> mine = play_two(scenario, "auto+aqua", first, second);
  double peaks = 0;
  for (const RunOutcome& outcome : mine) {
    const Totals& totals = outcome.totals;
    EXPECT_GT(totals.peak_peer_bytes, 0);
    EXPECT_GT(totals.peak_host_bytes, 0) << "lent memory was enough for both";
    peaks += totals.peak_peer_bytes;
    std::uint64_t computed = 0;
    for (const RequestOutcome& request : outcome.requests) {
      ASSERT_FALSE(request.refused());
      computed += request.prompt_tokens + request.output_tokens - 1;
    }
    EXPECT_EQ(totals.prefill_tokens + totals.decode_tokens, computed);
    EXPECT_DOUBLE_EQ(totals.bytes_in, totals.bytes_out);
  }
  EXPECT_LE(peaks, scenario.lent_bytes) << "the two hold more than is lent";
  expect_never_worse([&](const char* policy) { return play_two(scenario, policy, first, second); });
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
  const RunOutcome outcome = play(small_scenario(), "auto+aqua", must(tiled(trace, 3)));
  EXPECT_EQ(measure(outcome, {}).refused, 0u);
}

}  // namespace
}  // namespace aqua::sim::test
