// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/workload.hpp"

#include "tests/tools/sim/ground.hpp"

namespace aqua::sim::test {
namespace {

bool ordered(const Workload& work) {
  for (std::size_t i = 1; i < work.requests.size(); ++i) {
    if (work.requests[i].arrival < work.requests[i - 1].arrival) return false;
  }
  return true;
}

TEST(Workload, TilingRepeatsTheTraceAtItsPace) {
  Trace trace = constant_trace(10, 5, 3);
  trace.requests[1].arrival = picos(1);
  trace.requests[2].arrival = picos(4);
  const Workload work = must(tiled(trace, 7));
  ASSERT_EQ(work.requests.size(), 7u);
  EXPECT_EQ(work.requests[3].arrival, picos(6));  // 4 and the mean distance of 2
  EXPECT_EQ(work.requests[6].arrival, picos(12));
  EXPECT_TRUE(ordered(work));
}

TEST(Workload, PoissonHasItsRateAndItsSeed) {
  const Trace trace = mixed_trace(100);
  const Workload work = must(poisson(trace, {.requests = 50'000, .per_second = 4}, 1));
  EXPECT_NEAR(50'000 / seconds(work.requests.back().arrival), 4, 0.06);
  EXPECT_EQ(work.requests, must(poisson(trace, {.requests = 50'000, .per_second = 4}, 1)).requests);
  EXPECT_NE(work.requests, must(poisson(trace, {.requests = 50'000, .per_second = 4}, 2)).requests);
}

TEST(Workload, TheBurstDoublesForAMinuteAndWhatItAddedIsRedirected) {
  const Trace trace = mixed_trace(1000);
  const BurstShape shape{
      .per_second = 20, .factor = 2, .seconds = 60, .quiet_prompts = 25, .after = 100};
  const Workload work = must(burst(trace, shape, 5));
  ASSERT_TRUE(ordered(work));
  const Picos start = work.requests[25].arrival;
  std::uint64_t in_burst = 0;
  while (25 + in_burst < work.requests.size() &&
         work.requests[25 + in_burst].arrival < start + picos(60)) {
    ++in_burst;
  }
  EXPECT_NEAR(static_cast<double>(in_burst), 2400, 200);
  EXPECT_NEAR(static_cast<double>(work.redirected), static_cast<double>(in_burst) / 2, 2);
  EXPECT_EQ(work.requests.size(), 25 + in_burst + 100);
  // While those are redirected, nothing comes here.
  const Picos gap = work.requests[25 + in_burst].arrival - work.requests[24 + in_burst].arrival;
  EXPECT_NEAR(seconds(gap), static_cast<double>(work.redirected) / 20, 6);
}

TEST(Workload, OneOfTenPromptsHasTheLongPrefix) {
  const Workload work =
      must(prefix_caching(mixed_trace(50), {.requests = 100, .per_second = 1}, 1));
  std::size_t with = 0;
  for (const TraceRequest& request : work.requests) {
    if (request.hash_count == 0) continue;
    ++with;
    EXPECT_EQ(request.prompt_tokens, 100'000u);
    EXPECT_EQ(request.hash_count * work.hash_block_tokens, 100'000u - 256);
  }
  EXPECT_EQ(with, 10u);
}

TEST(Workload, RequestsThatComeOverMoreThanVirtualTimeLastsAreRefused) {
  const Trace trace = mixed_trace(50);
  const auto refused = [](const Result<Workload>& work) {
    return !work.ok() && work.error().code == Code::invalid_argument;
  };
  EXPECT_TRUE(refused(poisson(trace, {.requests = 300, .per_second = 1e-5}, 1)));
  EXPECT_TRUE(refused(poisson(trace, {.requests = 20'000'000, .per_second = 1}, 1)));
  EXPECT_TRUE(refused(prefix_caching(trace, {.requests = 300, .per_second = 1e-5}, 1)));
  EXPECT_TRUE(refused(burst(trace, {.per_second = 1e-6}, 1)));
  // Nine at one in a million seconds come in time, or do not, by the seed.
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto work = poisson(trace, {.requests = 9, .per_second = 1e-6}, seed);
    if (refused(work)) continue;
    EXPECT_TRUE(ordered(work.value()));
    EXPECT_LE(work->requests.back().arrival, picos(kMostSeconds));
  }
}

TEST(Workload, ATraceThatIsRepeatedOrSlowedBeyondVirtualTimeIsRefused) {
  constexpr double kDay = 86'400;
  Trace trace = constant_trace(10, 5, 2);
  trace.requests[1].arrival = picos(61 * kDay);
  EXPECT_EQ(must(tiled(trace, 2)).requests, trace.requests);
  EXPECT_EQ(tiled(trace, 4).error().code, Code::invalid_argument);
  trace.requests[1].arrival = picos(kDay);
  EXPECT_EQ(tiled(trace, 2, 0.005).error().code, Code::invalid_argument);
  EXPECT_EQ(must(tiled(trace, 2, 0.01)).requests[1].arrival, picos(100 * kDay));
}

}  // namespace
}  // namespace aqua::sim::test
