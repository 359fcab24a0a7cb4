// SPDX-License-Identifier: Apache-2.0
// What holds for every policy under random arrivals, completions, copies, tiers and capacities.
#include <algorithm>
#include <map>

#include "tests/systems/schedule/case.hpp"
#include "tests/systems/schedule/engine.hpp"
#include "tests/systems/schedule/moves.hpp"

namespace aqua::schedule::test {
namespace {

class Policies : public ::testing::TestWithParam<Case> {};

SchedulerOptions small(PreemptBy preempt_by) {
  return {.budget_tokens = 32,
          .slice_iterations = 5,
          .min_prefill_tokens = 4,
          .block_tokens = 4,
          .device_blocks = 40,
          .preempt_by = preempt_by,
          .recompute_seconds_per_token = 1,
          .swap_seconds_per_block = 2.5};
}

// Random events between iterations; at the end all that arrived finishes.
void play(const Case& what, std::uint64_t seed, Moves& moves) {
  SCOPED_TRACE(what.policy + " seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto up_to = [&](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % (n + 1));
  };
  SchedulerOptions options = small(what.preempt_by);
  options.swap_blocks = seed % 3 == 0 ? 30 + up_to(60) : UINT32_MAX;
  options.max_sequences = seed % 5 == 0 ? 6 : 0;
  Engine engine(what.policy, options);
  const bool tell = seed % 2 == 0;
  for (int round = 0; round < 600; ++round) {
    if (up_to(3) == 0) {
      const std::uint32_t prompt = 1 + up_to(60);
      const std::uint32_t cached = up_to(4) == 0 ? up_to(prompt - 1) : 0;
      engine.arrive(prompt, 1 + up_to(40), tell, 0.5 + up_to(3), up_to(4), cached);
    }
    if (up_to(14) == 0) come_from_elsewhere(engine, random, 0.5 + up_to(3), moves);
    if (up_to(7) == 0) hold_and_release(engine, random, moves);
    if (up_to(99) == 0) engine.set_device_blocks(28 + up_to(20));
    if (up_to(99) == 0 && seed % 3 == 0) engine.set_swap_blocks(up_to(80));
    if (up_to(49) == 0) engine.scheduler().set_swap_tier(up_to(1) == 0 ? Tier::peer : Tier::host);
    for (const std::uint64_t id : engine.copies()) {
      if (up_to(2) == 0)
        engine.end_copy(id, up_to(9) == 0, up_to(5) == 0 ? Tier::host : Tier::peer);
    }
    if (up_to(59) == 0 && !engine.sequences().empty()) {
      engine.lose(engine.sequences().begin()->first);
    }
    if (up_to(59) == 0 && !engine.sequences().empty()) {
      engine.finish(engine.sequences().rbegin()->first);  // aborted by its user
    }
    const Batch& batch = engine.plan();
    if (up_to(9) == 0) continue;  // planned again before it runs
    if (up_to(14) == 0) hold_and_release(engine, random, moves);
    if (batch.computes()) engine.run(1 + up_to(batch.repeat - 1));
    if (::testing::Test::HasFailure()) return;
  }
  release_all(engine);
  engine.set_device_blocks(48);
  engine.set_swap_blocks(UINT32_MAX);
  engine.scheduler().set_swap_tier(Tier::peer);
  for (int round = 0; round < 20000 && !engine.sequences().empty(); ++round) {
    for (const std::uint64_t id : engine.copies()) engine.end_copy(id);
    const Batch& batch = engine.plan();
    ASSERT_TRUE(batch.computes() || batch.moves() || !engine.copies().empty())
        << "stands still with " << engine.sequences().size() << " sequences";
    for (const SequenceId id : std::vector(batch.too_large)) {
      ADD_FAILURE() << "sequence " << static_cast<std::uint64_t>(id)
                    << " fits and is called too large";
    }
    if (batch.computes()) engine.run(batch.repeat);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(engine.sequences().empty()) << engine.sequences().size() << " never finish";
  EXPECT_EQ(engine.scheduler().status().device_blocks_held, 0U);
  EXPECT_EQ(engine.scheduler().status().swap_blocks_held, 0U);
}

TEST_P(Policies, KeepMemoryAndBudgetAndLoseNobody) {
  Moves moves;
  for (std::uint64_t seed = 1; seed <= 150 && !HasFailure(); ++seed) play(GetParam(), seed, moves);
  EXPECT_GT(moves.came_with_kv, 100U);
  EXPECT_GT(moves.held, 800U);
  EXPECT_GT(moves.departed, 200U);
}

// commit(k) is k times next() and commit().
TEST_P(Policies, SkippingAheadChangesNothing) {
  std::size_t leapt = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    Engine steps(GetParam().policy, small(GetParam().preempt_by));
    Engine leaps(GetParam().policy, small(GetParam().preempt_by));
    for (int event = 0; event < 80; ++event) {
      const auto prompt = 1 + static_cast<std::uint32_t>(random() % 50);
      const auto output = 1 + static_cast<std::uint32_t>(random() % 50);
      steps.arrive(prompt, output);
      leaps.arrive(prompt, output);
      const std::uint64_t until = leaps.iterations() + random() % 40;
      while (leaps.iterations() < until) {
        while (leaps.plan().moves()) {
          for (const auto id : leaps.copies()) leaps.end_copy(id);
        }
        const Batch batch = leaps.plan();
        if (!batch.computes()) break;
        std::uint32_t count = batch.repeat;
        for (const SequenceId id : batch.decodes) {
          const auto& s = leaps.sequences().at(static_cast<std::uint64_t>(id));
          count = std::min(count, s.output - s.generated);
        }
        count =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(count, until - leaps.iterations()));
        for (std::uint32_t i = 0; i < count; ++i) {
          while (steps.plan().moves()) {
            for (const auto id : steps.copies()) steps.end_copy(id);
          }
          const Batch& same = steps.plan();
          ASSERT_EQ(same.prefills, batch.prefills);
          ASSERT_EQ(same.decodes, batch.decodes);
          steps.run();
        }
        leaps.run(count);
        leapt += count > 1 ? 1U : 0U;
      }
      ASSERT_EQ(steps.scheduler().status(), leaps.scheduler().status());
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(leapt, 100U);
}

// A sequence that has 17 tokens could get exactly 2^32 more on such a device.
TEST_P(Policies, ServeADeviceThatHasGrownBeyond2To32Tokens) {
  SchedulerOptions options = small(GetParam().preempt_by);
  options.block_tokens = 16;
  Engine engine(GetParam().policy, options);
  const std::uint64_t id = engine.arrive(16, 100, false);
  while (engine.sequences().at(id).generated == 0) engine.step();
  ASSERT_EQ(engine.sequences().at(id).generated, 1U);
  engine.set_device_blocks((1U << 28) + 1);
  engine.step();
  EXPECT_EQ(engine.sequences().at(id).generated, 2U);
}

// At once, or a while later: what the sequence holds and where is what it was before the order.
TEST_P(Policies, ACopyThatFailsLeavesTheSequenceAsItWas) {
  std::size_t outs = 0, ins = 0;
  for (std::uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Engine engine(GetParam().policy, small(GetParam().preempt_by));
    std::map<std::uint64_t, SequenceStatus> before;  // the order of the copy under way
    for (int round = 0; round < 200; ++round) {
      if (random() % 3 == 0) {
        engine.arrive(1 + static_cast<std::uint32_t>(random() % 40),
                      1 + static_cast<std::uint32_t>(random() % 30), true, 1, random() % 3);
      }
      const auto status = [&](std::uint64_t id) {
        return *engine.scheduler().sequence(SequenceId{id});
      };
      std::map<std::uint64_t, SequenceStatus> now;
      for (const auto& [id, s] : engine.sequences()) now[id] = status(id);
      const bool computes = engine.plan().computes();
      for (const std::uint64_t id : engine.copies()) {
        const bool fresh = before.emplace(id, now.at(id)).second;
        if (random() % 3 == 0) continue;
        const bool fails = random() % 2 == 0;
        const bool out = status(id).state == SequenceState::paging_out;
        engine.end_copy(id, fails);
        if (fails) {
          SequenceStatus was = before.at(id);
          // Others are served meanwhile, and a plan may set a pace.
          if (!fresh || GetParam().policy == "auto") was.service = status(id).service;
          was.lead = status(id).lead;  // the least of the others may be another
          EXPECT_EQ(status(id), was) << "sequence " << id << (out ? " out" : " in");
          (out ? outs : ins) += 1;
        }
        before.erase(id);
      }
      if (computes) engine.run();
    }
  }
  if (GetParam().preempt_by != PreemptBy::swap) return;
  EXPECT_GT(outs, 20U);
  EXPECT_GT(ins, 20U);
}

TEST_P(Policies, SameCallsSameAnswers) {
  std::vector<Batch> runs[2];
  for (auto& batches : runs) {
    std::mt19937_64 random(7);
    Engine engine(GetParam().policy, small(GetParam().preempt_by));
    for (int i = 0; i < 300; ++i) {
      if (i % 3 == 0) {
        engine.arrive(1 + static_cast<std::uint32_t>(random() % 40),
                      1 + static_cast<std::uint32_t>(random() % 30), true, 1, random() % 3);
      }
      for (const auto id : engine.copies()) engine.end_copy(id);
      batches.push_back(engine.plan());
      if (batches.back().computes()) engine.run();
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
}

const Case cases[] = {Case{"las"},
                      Case{"cfs"},
                      Case{"fcfs"},
                      Case{"vtc"},
                      Case{"auto"},
                      Case{"auto", PreemptBy::recompute},
                      Case{"auto", PreemptBy::cheaper},
                      Case{"cfs", PreemptBy::cheaper},
                      Case{"fcfs", PreemptBy::recompute},
                      Case{"fcfs", PreemptBy::cheaper}};

INSTANTIATE_TEST_SUITE_P(Each, Policies, ::testing::ValuesIn(cases),
                         ::testing::PrintToStringParamName());

// Lent memory is full, so that whoever is sent out lands on the slow tier; a prompt whose beginning
// is cached in lent memory waits for the same blocks. Neither may send the other out for ever.
TEST(Fallback, IsNotLeftBeforeSomethingWasComputedInIt) {
  SchedulerOptions options = small(PreemptBy::swap);
  options.fcfs_on_slow_tier = true;
  const auto made = make_scheduler("cfs", options);
  ASSERT_TRUE(made.ok());
  Scheduler& scheduler = **made;
  const SequenceId first{1}, second{2};
  ASSERT_TRUE(scheduler.arrive({.id = first, .prompt_tokens = 100, .max_new_tokens = 60}).ok());
  std::map<SequenceId, std::uint32_t> left{{first, 60}};
  int plans = 0, sent_out = 0;
  for (; plans < 500 && !left.empty(); ++plans) {
    if (plans == 8) {
      ASSERT_TRUE(
          scheduler
              .arrive(
                  {.id = second, .prompt_tokens = 120, .max_new_tokens = 20, .cached_tokens = 8})
              .ok());
      left[second] = 20;
    }
    const Batch batch = scheduler.next();
    if (batch.computes()) {
      ASSERT_TRUE(scheduler.commit().ok());
    }
    for (const Preemption& out : batch.preemptions) {
      ++sent_out;
      if (out.how == Preemption::How::swap) {
        ASSERT_TRUE(scheduler.paged_out(out.id, Tier::host).ok());
      }
    }
    for (const PageIn& in : batch.page_ins) ASSERT_TRUE(scheduler.paged_in(in.id).ok());
    const auto token = [&](SequenceId id) {
      if (--left[id] > 0) return;
      left.erase(id);
      ASSERT_TRUE(scheduler.finish(id).ok());
    };
    for (const PrefillChunk& chunk : batch.prefills) {
      if (chunk.last) token(chunk.id);
    }
    for (const SequenceId id : batch.decodes) token(id);
  }
  EXPECT_TRUE(left.empty()) << plans << " plans";
  EXPECT_GT(sent_out, 0);
}

}  // namespace
}  // namespace aqua::schedule::test
