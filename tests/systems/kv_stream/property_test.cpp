// SPDX-License-Identifier: Apache-2.0
// What holds of every plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/systems/kv_stream/naive.hpp"

namespace aqua::kv_stream::test {
namespace {

constexpr std::uint64_t kSeeds = 3000;
constexpr double kWorseThanNothing = 1e300;

double seconds(const PlanInput& in, std::optional<Policy> policy = std::nullopt) {
  const auto made = plan(in);
  if (!made.ok()) return kWorseThanNothing;
  if (!policy) return made->best.seconds_per_request;
  const auto& best = made->outcomes.at(static_cast<std::size_t>(*policy)).best;
  return best ? best->seconds_per_request : kWorseThanNothing;
}

// `change` makes neither the plan nor the best disaggregated one slower, over random input.
template <typename Change>
void never_slower(const Change& change) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PlanInput in = random_input(seed);
    const double before = seconds(in), apart = seconds(in, Policy::disaggregated_dp);
    change(in);
    EXPECT_LE(seconds(in), before * (1 + 1e-12)) << "seed " << seed;
    EXPECT_LE(seconds(in, Policy::disaggregated_dp), apart * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(PlanProperty, MoreMachinesNeverPlanWorse) {
  never_slower([](PlanInput& in) { in.machines += 1; });
}

TEST(PlanProperty, MoreMemoryNeverPlansWorse) {
  never_slower([](PlanInput& in) { in.machine_bytes += 15; });
}

TEST(PlanProperty, AnotherMicrobatchNeverPlansWorse) {
  never_slower([](PlanInput& in) { in.microbatches.push_back({9, 40, 6}); });
}

TEST(PlanProperty, AFreeStreamNeverPlansWorse) {
  never_slower([](PlanInput& in) { in.stream_overhead = 1; });
}

TEST(PlanProperty, APlanKeepsToMachinesAndMemoryAndTellsItsCost) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const PlanInput in = random_input(seed);
    const auto made = plan(in);
    if (!made.ok()) continue;
    const Split& best = made->best;
    EXPECT_LE(best.machines, in.machines);
    for (const Side& side : {best.prompt, best.token}) {
      EXPECT_LE(side.bytes, in.machine_bytes);
      EXPECT_LE(side.host_bytes, in.away.host_bytes);
    }
    EXPECT_DOUBLE_EQ(best.cost_per_request,
                     in.machine_hour_price * best.machines * best.seconds_per_request / 3600);
    EXPECT_NEAR(made->ideal.prompt_machines + made->ideal.token_machines, in.machines, 1e-9);
  }
}

TEST(PlanProperty, ManyRequestsAtOnceTakeAsLongEachAsIfThereWereAlwaysEnough) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PlanInput in = random_input(seed);
    const double always = seconds(in);
    in.requests = 100'000'000;
    if (always == kWorseThanNothing) {
      EXPECT_EQ(seconds(in), kWorseThanNothing);
      continue;
    }
    EXPECT_NEAR(seconds(in), always, 1e-4 * always) << "seed " << seed;
    in.requests = 1;
    EXPECT_GT(seconds(in), always / 2) << "seed " << seed;
  }
}

// Whoever fits a machine has no bubbles there, and prompts and tokens share it without waiting.
TEST(PlanProperty, OneMachineThatHoldsAllIsNeverBeatenWithTheSameMicrobatch) {
  std::uint64_t seen = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PlanInput in = random_input(seed);
    in.microbatches.resize(1);
    PlanInput one = in;
    one.machines = 1;
    if (!plan(one).ok()) continue;
    seen += 1;
    EXPECT_NEAR(seconds(in), seconds(one) / in.machines, 1e-9 * seconds(one)) << "seed " << seed;
  }
  EXPECT_GT(seen, kSeeds / 10);
}

TEST(PlanProperty, WhatIsNeededIsTheSmallestThatDoes) {
  std::uint64_t too_little = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const PlanInput in = random_input(seed);
    const Needs need = needs(in).value();
    const auto fits = [&](std::uint32_t machines, std::uint64_t bytes, std::uint32_t requests) {
      PlanInput changed = in;
      changed.machines = machines;
      changed.machine_bytes = bytes;
      if (requests > 0) changed.microbatches = {{requests, 1, 1}};
      return plan(changed).ok();
    };
    too_little += plan(in).ok() ? 0U : 1U;
    for (std::uint32_t n = 1; n <= 10; ++n) {
      EXPECT_EQ(fits(n, in.machine_bytes, 0), need.machines > 0 && n >= need.machines) << n;
    }
    EXPECT_TRUE(fits(in.machines, need.machine_bytes, 0));
    if (need.machine_bytes - 1 > in.reserved_bytes) {
      EXPECT_FALSE(fits(in.machines, need.machine_bytes - 1, 0));
    }
    EXPECT_EQ(fits(in.machines, in.machine_bytes, std::max(1U, need.microbatch)),
              need.microbatch > 0);
    EXPECT_FALSE(fits(in.machines, in.machine_bytes, need.microbatch + 1));
  }
  EXPECT_GT(too_little, kSeeds / 10);
}

TEST(PlanProperty, ExplainHasEverySplitFastestFirstAndSaysWhyAllButThePlanLost) {
  PlanInput in = random_input(1);
  in.machines = 4;
  in.layers = 8;
  in.machine_bytes = 100'000;
  const std::vector<Split> all = explain(in).value();
  // Four depths; 2, 3, 4 x 1 and 2 x 2; 1+1, 1+2, 2+1, 1+3, 2+2, 3+1. Of all products with
  // p x dp + t x dt = 2, 3, 4 there are 1, 4 and 8, less those six.
  const auto of = [&](Policy policy) {
    return std::count_if(all.begin(), all.end(),
                         [&](const Split& split) { return split.policy == policy; });
  };
  EXPECT_EQ(of(Policy::colocated), 4);
  EXPECT_EQ(of(Policy::colocated_dp), 4);
  EXPECT_EQ(of(Policy::disaggregated), 6);
  EXPECT_EQ(of(Policy::disaggregated_dp), 7);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const Split& a, const Split& b) {
    return a.seconds_per_request < b.seconds_per_request;
  }));
  EXPECT_EQ(all.front().lost, "");
  EXPECT_EQ(describe(all.front()), describe(plan(in)->best));
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].lost.find("does not "), 0U) << all[i].lost;
  }
}

}  // namespace
}  // namespace aqua::kv_stream::test
