// SPDX-License-Identifier: Apache-2.0
// Sequences that move between engines: they are held, go away, and come with what they have.
#include <algorithm>

#include "tests/systems/schedule/engine.hpp"

namespace aqua::schedule::test {
namespace {

const SchedulerOptions small{.budget_tokens = 32,
                             .slice_iterations = 5,
                             .min_prefill_tokens = 4,
                             .block_tokens = 4,
                             .device_blocks = 40};

class Moving : public ::testing::TestWithParam<std::string> {
 protected:
  Engine engine{GetParam(), small};
  Scheduler& scheduler = engine.scheduler();

  SequenceStatus status(std::uint64_t id) { return *scheduler.sequence(SequenceId{id}); }
  bool computes(const Batch& batch, std::uint64_t id) {
    const auto is = [&](const PrefillChunk& chunk) { return chunk.id == SequenceId{id}; };
    return std::ranges::count(batch.decodes, SequenceId{id}) > 0 ||
           std::ranges::any_of(batch.prefills, is);
  }
  // Serves until it decodes.
  std::uint64_t decoding(std::uint32_t prompt) {
    const std::uint64_t id = engine.arrive(prompt, 1000, false);
    while (engine.sequences().at(id).generated < 2) engine.step();
    return id;
  }
};

TEST_P(Moving, AFullyCachedPromptHasItsLastTokenComputed) {
  const std::uint64_t id = engine.arrive(21, 3, true, 1, 0, 21);
  EXPECT_EQ(status(id).computed_tokens, 20U);
  const PageIn in = engine.plan().page_ins.at(0);
  EXPECT_EQ(in.blocks, 5U) << "the block of the last token is not fetched";
  engine.end_copy(id);
  const Batch batch = engine.plan();
  ASSERT_EQ(batch.prefills.size(), 1U);
  EXPECT_EQ(batch.prefills[0], (PrefillChunk{SequenceId{id}, 20, 1, true}));
  engine.run();
  EXPECT_EQ(status(id).generated_tokens, 1U);
}

TEST_P(Moving, APromptOfOneCachedTokenIsComputed) {
  const std::uint64_t id = engine.arrive(1, 3, true, 1, 0, 1);
  EXPECT_EQ(status(id).state, SequenceState::waiting);
  EXPECT_EQ(engine.plan().prefills.at(0), (PrefillChunk{SequenceId{id}, 0, 1, true}));
}

TEST_P(Moving, AnAnswerThatCameWithItsKvDecodesInTheNextIteration) {
  const std::uint64_t id = engine.come(
      {.prompt_tokens = 20, .generated_tokens = 5, .cached_tokens = 24, .cached_in = Tier::local},
      9);
  const SequenceStatus came = status(id);
  EXPECT_EQ(came.state, SequenceState::resident);
  EXPECT_EQ(came.computed_tokens, 24U);
  EXPECT_EQ(came.device_blocks, 6U);
  const Batch& batch = engine.plan();
  EXPECT_FALSE(batch.moves());
  EXPECT_EQ(batch.decodes, std::vector{SequenceId{id}});
  for (int token = 0; token < 4; ++token) engine.step();
  EXPECT_TRUE(engine.sequences().empty()) << "four tokens are left of nine";
}

TEST_P(Moving, AnAnswerThatCameAsTokensIsComputedToItsEndAndGeneratesTheNext) {
  const std::uint64_t id = engine.come({.prompt_tokens = 20, .generated_tokens = 5}, 9);
  const Batch& batch = engine.plan();
  ASSERT_EQ(batch.prefills.size(), 1U);
  EXPECT_EQ(batch.prefills[0], (PrefillChunk{SequenceId{id}, 0, 25, true}));
  engine.run();
  EXPECT_EQ(status(id).generated_tokens, 6U);
}

TEST_P(Moving, KvThatHasNoRoomIsRefusedAndNobodyHasCome) {
  const std::uint64_t other = decoding(100);
  const SchedulerStatus before = scheduler.status();
  const Request request{.id = SequenceId{99},
                        .prompt_tokens = 60,
                        .generated_tokens = 1,
                        .cached_tokens = 61,
                        .cached_in = Tier::local};
  const auto told = scheduler.arrive(request);
  ASSERT_FALSE(told.ok());
  EXPECT_EQ(told.error().code, Code::resource_exhausted);
  EXPECT_NE(told.error().message.find("15 blocks"), std::string::npos) << told.error().message;
  EXPECT_EQ(scheduler.status(), before);
  engine.finish(other);
  EXPECT_TRUE(scheduler.arrive(request).ok());
}

// The batch may count on the blocks that the newcomer has.
TEST_P(Moving, KvThatComesVoidsTheBatch) {
  (void)decoding(8);
  (void)engine.plan();
  engine.come(
      {.prompt_tokens = 8, .generated_tokens = 1, .cached_tokens = 8, .cached_in = Tier::local},
      20);
  EXPECT_EQ(scheduler.commit().error().code, Code::failed_precondition);
  EXPECT_TRUE(engine.plan().computes());
}

TEST_P(Moving, AHeldSequenceKeepsItsBlocksWhileOthersAreServed) {
  const std::uint64_t held = decoding(30), other = decoding(30);
  ASSERT_TRUE(engine.hold(held));
  const SequenceStatus before = status(held);
  EXPECT_TRUE(before.held);
  EXPECT_EQ(scheduler.status().held, 1U);
  for (int i = 0; i < 60; ++i) {
    if (i % 4 == 0) engine.arrive(40, 40);
    engine.step();
    const SequenceStatus now = status(held);
    EXPECT_EQ(now.computed_tokens, before.computed_tokens);
    EXPECT_EQ(now.device_blocks, before.device_blocks);
    EXPECT_EQ(now.state, SequenceState::resident);
  }
  EXPECT_GT(status(other).generated_tokens, 2U);
  engine.release(held);
  EXPECT_FALSE(status(held).held);
  const auto generated = status(held).generated_tokens;
  for (int i = 0; i < 400 && status(held).generated_tokens == generated; ++i) engine.step();
  EXPECT_GT(status(held).generated_tokens, generated) << "it goes on";
}

TEST_P(Moving, AHoldBeginsWhenTheIterationThatComputesTheSequenceIsCommitted) {
  const std::uint64_t id = decoding(10);
  ASSERT_TRUE(computes(engine.plan(), id));
  const auto generated = status(id).generated_tokens;
  ASSERT_TRUE(engine.hold(id));
  EXPECT_FALSE(status(id).held) << "its kernels may be running";
  engine.run();
  EXPECT_TRUE(status(id).held);
  EXPECT_EQ(status(id).generated_tokens, generated + 1) << "the iteration counts";
  EXPECT_FALSE(computes(engine.plan(), id));
}

TEST_P(Moving, AHoldBeginsWithThePlanThatFollowsABatchWhichIsNotCommitted) {
  const std::uint64_t id = decoding(10);
  (void)engine.plan();
  ASSERT_TRUE(engine.hold(id));
  EXPECT_FALSE(computes(engine.plan(), id));
  EXPECT_TRUE(status(id).held);
}

TEST_P(Moving, AHeldSequenceStaysOnADeviceThatShrinksBelowIt) {
  const std::uint64_t id = decoding(60);
  ASSERT_TRUE(engine.hold(id));
  const auto blocks = status(id).device_blocks;
  engine.set_device_blocks(4);
  for (int i = 0; i < 20; ++i) engine.step();
  EXPECT_EQ(status(id).device_blocks, blocks);
  EXPECT_TRUE(engine.plan().too_large.empty());
  engine.release(id);
  engine.step();
  EXPECT_EQ(engine.plan().too_large, std::vector{SequenceId{id}}) << "it is looked at again";
  engine.set_device_blocks(40);
  const auto generated = status(id).generated_tokens;
  for (int i = 0; i < 5; ++i) engine.step();
  EXPECT_GT(status(id).generated_tokens, generated);
}

TEST_P(Moving, WhatCannotBeHeldOrReleasedIsNamed) {
  const auto code = [](const Result<void>& told) { return told.error().code; };
  EXPECT_EQ(code(scheduler.hold(SequenceId{9})), Code::not_found);
  EXPECT_EQ(code(scheduler.release(SequenceId{9})), Code::not_found);
  EXPECT_EQ(code(scheduler.depart(SequenceId{9})), Code::not_found);
  const std::uint64_t id = engine.arrive(10, 20);
  EXPECT_EQ(code(scheduler.hold(SequenceId{id})), Code::failed_precondition) << "it has no KV";
  EXPECT_EQ(code(scheduler.release(SequenceId{id})), Code::failed_precondition);
  engine.step();
  EXPECT_TRUE(scheduler.hold(SequenceId{id}).ok());
  EXPECT_EQ(code(scheduler.hold(SequenceId{id})), Code::already_exists);
}

TEST_P(Moving, WhatIsLostWhileItIsHeldIsComputedAgain) {
  const std::uint64_t id = decoding(10);
  ASSERT_TRUE(engine.hold(id));
  engine.lose(id);
  EXPECT_FALSE(status(id).held);
  EXPECT_EQ(scheduler.status().held, 0U);
  EXPECT_TRUE(computes(engine.plan(), id));
}

INSTANTIATE_TEST_SUITE_P(Each, Moving, ::testing::ValuesIn(scheduler_names()),
                         [](const auto& each) { return each.param; });

// --- what a request takes along -----------------------------------------------------------------

// Two engines of one policy; a sequence goes from one to the other with what its status says.
std::uint64_t move(Engine& from, std::uint64_t id, Engine& to) {
  const SequenceStatus was = *from.scheduler().sequence(SequenceId{id});
  const EngineSequence s = from.sequences().at(id);
  from.depart(id);
  return to.come({.prompt_tokens = s.prompt,
                  .generated_tokens = s.generated,
                  .cached_tokens = s.computed,
                  .cached_in = Tier::local,
                  .lead = was.lead},
                 s.output);
}

double service(Engine& engine, std::uint64_t id) {
  return engine.scheduler().sequence(SequenceId{id})->service;
}

TEST(Lead, OfCfsIsAheadOfTheLeastThereAsItWasHere) {
  Engine here("cfs", small), there("cfs", small);
  const std::uint64_t served = here.arrive(20, 1000, false);
  for (int i = 0; i < 23; ++i) here.step();
  const std::uint64_t new_one = here.arrive(20, 1000, false);
  const double ahead = service(here, served) - service(here, new_one);
  const std::uint64_t waiting = there.arrive(20, 1000, false);
  const std::uint64_t moved = move(here, served, there);
  EXPECT_GT(ahead, 0);
  EXPECT_EQ(service(there, moved) - service(there, waiting), ahead);
}

TEST(Lead, OfVtcIsItsTenantsAndIsNotAddedTwice) {
  SchedulerOptions options = small;
  options.max_sequences = 2;
  Engine here("vtc", options), there("vtc", options);
  const std::uint64_t first = here.arrive(20, 1000, false, 1, 1);
  const std::uint64_t second = here.arrive(20, 1000, false, 1, 1);
  for (int i = 0; i < 20; ++i) here.step();
  here.arrive(20, 1000, false, 1, 2);  // waits, and is the least
  const double lead = here.scheduler().sequence(SequenceId{first})->lead;
  EXPECT_GT(lead, 40);
  const auto come = [&](std::uint64_t id) {
    const EngineSequence& s = here.sequences().at(id);
    return there.come({.prompt_tokens = s.prompt,
                       .generated_tokens = s.generated,
                       .cached_tokens = s.computed,
                       .cached_in = Tier::local,
                       .tenant = TenantId{1},
                       .lead = here.scheduler().sequence(SequenceId{id})->lead},
                      s.output);
  };
  const std::uint64_t one = come(first);
  EXPECT_EQ(service(there, one), lead);
  (void)come(second);
  EXPECT_EQ(service(there, one), lead) << "once for the tenant";
  there.step();
  EXPECT_EQ(service(there, one), lead + 4) << "two tokens, and no prompt";
}

TEST(Lead, OfAutoIsTheTimeUntilItsNextTokenIsDue) {
  Engine here("auto", small), there("auto", small);
  const std::uint64_t id = here.arrive(20, 1000, false);
  double now = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(here.scheduler().set_time(now += 0.01).ok());
    here.step();
  }
  const double lead = here.scheduler().sequence(SequenceId{id})->lead;
  EXPECT_NEAR(lead, 0.1 * 20 - 0.2, 0.02) << "a token every 0.1 s is promised, it had one in 0.01";
  ASSERT_TRUE(there.scheduler().set_time(1000).ok());
  const std::uint64_t moved = move(here, id, there);
  EXPECT_NEAR(service(there, moved), 1000 + lead, 1e-9);
  EXPECT_EQ(there.scheduler().status().paced, 1U) << "it answers";
}

// Else whoever drains an engine would teach it that answers are short, and it would give up those
// that fall behind: what is left of a short one cannot catch up.
TEST(Lead, AutoLearnsNoLengthFromWhoGoesElsewhere) {
  const auto backlog = [](bool departs) {
    SchedulerOptions options = small;
    options.seconds_per_token = 0.04;
    Engine engine("auto", options);
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t id = engine.arrive(4, 1000, false);
      for (int k = 0; k < 4; ++k) engine.step();
      departs ? engine.depart(id) : engine.finish(id);
    }
    for (int i = 0; i < 5; ++i) engine.arrive(30, 1000, false);
    double now = 0;
    std::size_t sum = 0;
    for (int i = 0; i < 24; ++i) {
      now += i == 12 ? 1.0 : 0.01;  // once it stalls, and all fall behind
      EXPECT_TRUE(engine.scheduler().set_time(now).ok());
      engine.step();
      sum += engine.scheduler().status().backlog;
    }
    return sum;
  };
  EXPECT_GT(backlog(false), backlog(true));
}

}  // namespace
}  // namespace aqua::schedule::test
