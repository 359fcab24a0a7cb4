// SPDX-License-Identifier: Apache-2.0
// The prefix cache in the simulator: what is computed once is fetched afterwards.
#include "tests/tools/sim/ground.hpp"
#include "tools/sim/engine/prefix_store.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::sim::test {
namespace {

Scenario prefix_scenario() {
  Scenario scenario = small_scenario();
  scenario.prefix_cache = true;
  return scenario;
}

Workload prompts(std::uint64_t seed = 1) {
  return must(prefix_caching(mixed_trace(200),
                             {.requests = 200, .per_second = 2, .prompt_tokens = 8192}, seed));
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

// A store of blocks of 1 MiB, and a lender of 4 MiB.
class PrefixStoreTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBlockTokens = 512;
  static constexpr double kMiB = 1 << 20;

  PrefixStoreTest() { (void)market_.offer(4 * kMiB, 0); }

  // A prompt of its own.
  static Workload prompt(std::uint32_t tokens) {
    Workload work{.requests = {{.prompt_tokens = tokens, .output_tokens = 1}}};
    work.hash_block_tokens = kBlockTokens;
    TraceRequest& request = work.requests.front();
    request.hash_count = (tokens + kBlockTokens - 1) / kBlockTokens;
    for (std::uint32_t i = 0; i < request.hash_count; ++i) work.hashes.push_back({.low = i});
    return work;
  }

  SlabMarket market_{1 << 20, 1e12};
  SwapSpace swap_{&market_.borrower()};
  PrefixStore store_{must(prefix::PrefixIndex::create({.block_tokens = kBlockTokens})),
                     kMiB / kBlockTokens};
};

TEST_F(PrefixStoreTest, WhatLentMemoryDoesNotHoldLeavesItToSequences) {
  const Workload work = prompt(6 * kBlockTokens);
  const auto stored = store_.store(work, work.requests.front(), swap_, 0);
  EXPECT_EQ(stored.bytes, 6 * kMiB);
  EXPECT_EQ(stored.tier, Tier::host);
  EXPECT_EQ(swap_.host_bytes(), 6 * kMiB);
  EXPECT_FALSE(store_.any_with_peer());
  EXPECT_EQ(swap_.reserve(0, 4 * kMiB, 0, Tier::peer), Tier::peer);
}

// The last token of a prompt is computed, though its block is cached and held.
TEST_F(PrefixStoreTest, APromptThatIsCachedWhollyHoldsNothingOnceItIsReleased) {
  for (const std::uint32_t tokens : {1U, kBlockTokens + 1}) {
    const Workload work = prompt(tokens);
    const TraceRequest& request = work.requests.front();
    (void)store_.store(work, request, swap_, 0);
    const auto hit = store_.acquire(work, request);
    EXPECT_EQ(hit.tokens, tokens - 1);
    EXPECT_EQ(hit.blocks, tokens == 1 ? 0U : 2U);
    store_.release(work, request, hit.blocks);
    EXPECT_TRUE(store_.any_with_peer());
    store_.make_room(4 * kMiB, swap_, 0);
    EXPECT_FALSE(store_.any_with_peer()) << tokens;
    EXPECT_EQ(swap_.peer_bytes(), 0) << tokens;
  }
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
