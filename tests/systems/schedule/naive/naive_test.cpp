// SPDX-License-Identifier: Apache-2.0
// Each policy decides as its naive second does, under random arrivals, priorities, completions,
// copies, losses, tiers and memory.
#include <algorithm>
#include <array>

#include "tests/systems/schedule/case.hpp"
#include "tests/systems/schedule/engine.hpp"
#include "tests/systems/schedule/moves.hpp"
#include "tests/systems/schedule/naive/auto.hpp"
#include "tests/systems/schedule/naive/slice.hpp"
#include "tests/systems/schedule/naive/vtc.hpp"
#include "tests/systems/schedule/twin.hpp"

namespace aqua::schedule::test {
namespace {

class Naive : public ::testing::TestWithParam<Case> {};

std::unique_ptr<Scheduler> naive_of(const std::string& policy, const SchedulerOptions& options) {
  if (policy == "auto") return std::make_unique<NaiveAuto>(options);
  if (policy == "fcfs") return std::make_unique<NaiveScheduler>(options);
  if (policy == "vtc") return std::make_unique<NaiveVtc>(options);
  return std::make_unique<NaiveSlice>(policy == "cfs", options);
}

// Sums of these weights are exact in binary, whichever way they are added up.
constexpr double weights[] = {0.25, 0.5, 1, 2, 4};

struct Seen {
  Moves moves{};
  std::size_t decisions = 0, preemptions = 0, fallbacks = 0;
  std::array<std::size_t, kSharings.size()> plans{};  // by Sharing
};

void play(const Case& what, std::uint64_t seed, Seen& seen) {
  SCOPED_TRACE(what.policy + " seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % (n + 1));
  };
  SchedulerOptions options{.budget_tokens = 16 + up_to(32),
                           .max_sequences = seed % 5 == 0 ? 6U : 0U,
                           .slice_iterations = 1 + up_to(11),
                           .min_prefill_tokens = 1 + up_to(12),
                           .seconds_per_token = 0.01 * static_cast<double>(1 + seed % 10),
                           .block_tokens = 4,
                           .device_blocks = 40,
                           .swap_blocks = seed % 3 == 0 ? 30 + up_to(60) : UINT32_MAX,
                           .preempt_by = what.preempt_by,
                           .recompute_seconds_per_token = 1,
                           .swap_seconds_per_block = 2.5,
                           .peer_seconds_per_block = static_cast<double>(seed % 3),
                           .host_seconds_per_block = static_cast<double>(seed % 2)};
  auto twin =
      std::make_unique<Twin>(*make_scheduler(what.policy, options), naive_of(what.policy, options));
  Twin& both = *twin;
  Engine engine(std::move(twin), options);
  const std::uint32_t busy = 1 + up_to(4);  // arrivals: one in so many rounds
  const bool moving = seed % 2 == 0;
  const bool timed = what.policy == "auto" && seed % 4 != 0;
  double now = 0;
  for (int round = 0; round < 400 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    if (up_to(busy) == 0) {
      const std::uint32_t prompt = 1 + up_to(60);
      const std::uint32_t cached = up_to(4) == 0 ? up_to(prompt - 1) : 0;
      const std::uint32_t output = 1 + up_to(40);
      // Who says more than the device has would be refused; who says nothing grows too large.
      const std::uint32_t device = engine.options().device_blocks * options.block_tokens;
      if (prompt <= device) {
        engine.arrive(prompt, output, up_to(1) == 0 && prompt + output <= device, weights[up_to(4)],
                      up_to(4), cached);
      }
    }
    if (moving && up_to(9) == 0) {
      come_from_elsewhere(engine, random, weights[up_to(4)], seen.moves);
    }
    if (moving && up_to(4) == 0) hold_and_release(engine, random, seen.moves);
    // Below what the largest sequence needs, now and then: it is set aside.
    if (up_to(99) == 0) engine.set_device_blocks(seed % 7 == 0 ? 15 + up_to(33) : 28 + up_to(20));
    if (up_to(99) == 0 && seed % 3 == 0) engine.set_swap_blocks(up_to(80));
    if (up_to(49) == 0) both.set_swap_tier(up_to(2) == 0 ? Tier::host : Tier::peer);
    if (up_to(49) == 0) {
      const Tier measured = up_to(1) == 0 ? Tier::host : Tier::peer;
      ASSERT_TRUE(both.set_seconds_per_block(measured, 0.001 * (6 + up_to(4))).ok());
    }
    for (const std::uint64_t id : engine.copies()) {
      if (up_to(2) == 0) {
        engine.end_copy(id, up_to(9) == 0, up_to(9) == 0 ? Tier::host : Tier::peer);
      }
    }
    if (up_to(59) == 0 && !engine.sequences().empty()) {
      engine.lose(engine.sequences().begin()->first);
    }
    if (up_to(59) == 0 && !engine.sequences().empty()) {
      engine.finish(engine.sequences().rbegin()->first);
    }
    if (timed) {
      now += 0.002 * up_to(20);
      ASSERT_TRUE(both.set_time(now).ok());
    }
    const Batch& batch = engine.plan();
    seen.plans[static_cast<std::size_t>(both.status().sharing)] += 1;
    seen.fallbacks += both.status().falling_back;
    if (up_to(9) == 0) continue;  // planned again before it runs
    std::uint32_t most = batch.repeat;
    if (moving && up_to(9) == 0) {
      hold_and_release(engine, random, seen.moves);
      most = 1;  // more is promised only where nothing is said meanwhile
    }
    if (batch.computes()) engine.run(1 + up_to(most - 1));
  }
  seen.decisions += both.decisions();
  seen.preemptions += engine.preemptions();
}

TEST_P(Naive, SaysTheSame) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) play(GetParam(), seed, seen);
  EXPECT_GT(seen.decisions, 50'000U);
  EXPECT_GT(seen.preemptions, 500U) << "memory was never short";
  EXPECT_GT(seen.moves.came_with_kv, 50U);
  EXPECT_GT(seen.moves.held, 300U);
  EXPECT_GT(seen.moves.departed, 100U);
  if (GetParam().policy == "las" || GetParam().policy == "cfs") {
    EXPECT_GT(seen.fallbacks, 1000U) << "nothing was ever on the slow tier";
  }
  if (GetParam().policy != "auto") return;
  for (const Sharing each : kSharings) {
    if (each == Sharing::fixed) continue;
    // Who drops what it preempts asks for no swap space.
    if (each == Sharing::none && GetParam().preempt_by != PreemptBy::swap) continue;
    EXPECT_GT(seen.plans[static_cast<std::size_t>(each)], 100U) << to_string(each);
  }
}

// Sixteen answers in four places, for as long as it takes to see `count` page-outs: which of them,
// by number, go to the host. The first of these is told to have taken `found` seconds a block.
std::vector<std::size_t> outs_to_host(bool told, std::size_t count, double found) {
  SchedulerOptions options{.budget_tokens = 64,
                           .slice_iterations = 4,
                           .min_prefill_tokens = 16,
                           .block_tokens = 4,
                           .device_blocks = 40,
                           .peer_seconds_per_block = 0.001,
                           .host_seconds_per_block = 0.01};
  auto twin = std::make_unique<Twin>(*make_scheduler("auto", options), naive_of("auto", options));
  Twin& both = *twin;
  Engine engine(std::move(twin), options);
  if (told) {
    EXPECT_TRUE(both.set_seconds_per_block(Tier::host, 0.01).ok());
  }
  std::vector<std::size_t> seen;
  std::size_t outs = 0;
  while (outs < count && !::testing::Test::HasFailure()) {
    while (engine.sequences().size() < 16) engine.arrive(20, 30, false);
    const Batch batch = engine.plan();
    for (const Preemption& out : batch.preemptions) {
      if (outs++ >= count || out.to != Tier::host) continue;
      seen.push_back(outs);
      if (found <= 0) continue;
      EXPECT_TRUE(both.set_seconds_per_block(Tier::host, std::exchange(found, 0)).ok());
    }
    for (const std::uint64_t id : engine.copies()) engine.end_copy(id);
    if (batch.computes()) engine.run();
  }
  return seen;
}

TEST(NaiveAutoTiers, ATierThatWasMeasuredAndTurnedAwayIsTriedAgainEverMoreRarely) {
  using Numbers = std::vector<std::size_t>;
  EXPECT_EQ(outs_to_host(true, 2000, 0), (Numbers{256, 768, 1792}));
  EXPECT_EQ(outs_to_host(false, 1000, 0), Numbers{}) << "a cost that was given is no measurement";
}

TEST(NaiveAutoTiers, AFirstMeasurementThatWasBadIsCorrected) {
  const std::vector<std::size_t> seen = outs_to_host(true, 700, 0.0001);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.front(), 256U);
  EXPECT_GE(seen.size(), 440U) << "and all after it, but those of the same batch";
}

const Case naive_cases[] = {Case{"auto"},
                            Case{"auto", PreemptBy::recompute},
                            Case{"auto", PreemptBy::cheaper},
                            Case{"las"},
                            Case{"cfs"},
                            Case{"fcfs"},
                            Case{"vtc"},
                            Case{"las", PreemptBy::recompute},
                            Case{"cfs", PreemptBy::cheaper},
                            Case{"vtc", PreemptBy::cheaper},
                            Case{"fcfs", PreemptBy::recompute}};

INSTANTIATE_TEST_SUITE_P(Each, Naive, ::testing::ValuesIn(naive_cases),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace aqua::schedule::test
