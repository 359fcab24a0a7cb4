// SPDX-License-Identifier: Apache-2.0
// Where queueing theory or arithmetic knows the answer, the simulator gives it within 1 %.
#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

TEST(ClosedForm, SinglePromptTakesItsChunksAndItsDecodes) {
  const Scenario scenario = small_scenario();
  const Ground ground = must(resolve(scenario, {}));
  for (const auto& [prompt, output] :
       {std::pair{1u, 1u}, {512u, 10u}, {1300u, 200u}, {5000u, 33u}}) {
    const Workload work = must(tiled(constant_trace(prompt, output), 1));
    for (const char* policy : {"fcfs", "cfs+aqua", "cfs+free", "las+dram", "vtc", "auto+aqua"}) {
      const RunOutcome outcome = play(scenario, policy, work);
      // Exactly: the same sums of whole picoseconds.
      EXPECT_EQ(outcome.requests[0].finish, ground.cost.prompt_alone(prompt, output))
          << policy << " " << prompt << " " << output;
      EXPECT_EQ(outcome.requests[0].first_token, ground.cost.prompt_alone(prompt, 1));
    }
  }
}

// Prompts of a whole chunk with one output token are served one an iteration, in a constant time:
// M/D/1. Mean time in queue (Pollaczek and Khinchine): rho * S / (2 * (1 - rho)). Service here
// starts when the engine is idle or the iteration before has ended, as the formula wants.
TEST(ClosedForm, WaitingIsThatOfAnMD1Queue) {
  Scenario scenario = small_scenario();
  const Ground ground = must(resolve(scenario, {}));
  const double service = seconds(ground.cost.prompt_alone(512, 1));
  const Trace trace = constant_trace(512, 1);
  for (const double rho : {0.3, 0.6, 0.8}) {
    double waited = 0;
    constexpr std::uint64_t kSeeds = 8;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Workload work =
          must(poisson(trace, {.requests = 200'000, .per_second = rho / service}, seed));
      const Metrics metrics = measure(play(scenario, "fcfs", work), {});
      waited += (metrics.ttft_mean_s - service) / kSeeds;
    }
    const double expected = rho * service / (2 * (1 - rho));
    EXPECT_NEAR(waited / expected, 1, 0.01) << "load " << rho;
  }
}

// Everybody is there at the start and fits: the engine decodes a full batch all the time but for
// the prefills, so that throughput is tokens over the sum of those iterations' times.
TEST(ClosedForm, SaturatedThroughputIsTheBatchOverItsIteration) {
  Scenario scenario = small_scenario();
  scenario.kv_tokens = 600'000;
  const Ground ground = must(resolve(scenario, {}));
  constexpr std::uint32_t kPrompt = 16, kOutput = 2000, kRequests = 64;
  Trace trace = constant_trace(kPrompt, kOutput, kRequests);
  const RunOutcome outcome = play(scenario, "fcfs", must(tiled(trace, kRequests)));
  double total = 0;
  for (std::uint32_t i = 0; i < kOutput; ++i) {
    total += seconds(ground.cost.linear(kRequests) + ground.cost.head(kRequests) +
                     ground.cost.decode_attention_per_token() * kRequests * (kPrompt + i));
  }
  const double expected = kRequests * kOutput / total;
  EXPECT_NEAR(measure(outcome, {}).throughput_tokens_s / expected, 1, 0.01);
}

// A preempted sequence of known size goes out and comes back at the link's speed.
TEST(ClosedForm, PagingTakesLatencyPlusBytesOverBandwidth) {
  const Ground ground = must(resolve(small_scenario(), {}));
  Network network;
  const PortLinks own = add_gpu(network, "own", ground),
                  lender = add_gpu(network, "lender", ground);
  const Paging paging = paging_of(ground, PagingMethod::gathered, own, lender);
  const double bytes = 640e6;  // ten windows
  network.start(paging.transfer(Tier::peer, true, bytes), 0);
  Picos end = 0;
  while (!network.idle()) (void)network.advance(end = network.next_change());
  const double gather = 2 * paging.window_bytes / paging.hbm_bytes_per_second;
  EXPECT_NEAR(seconds(end), bytes / 250e9 + 10 * 64e-6 + gather, 1e-9);
}

}  // namespace
}  // namespace aqua::sim::test
