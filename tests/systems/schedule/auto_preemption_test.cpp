// SPDX-License-Identifier: Apache-2.0
// auto: how it preempts, whom, and for what.
#include <algorithm>
#include <set>

#include "tests/systems/schedule/timed.hpp"

namespace aqua::schedule::test {
namespace {

using How = Preemption::How;

// How those who give way do, with twelve answers in four places.
std::set<How> hows(const SchedulerOptions& wanted) {
  Timed timed(wanted);
  for (int i = 0; i < 12; ++i) timed.engine.arrive(20, 1000, false);
  std::set<How> seen;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
    for (const Preemption& out : timed.engine.plan().preemptions) seen.insert(out.how);
    for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id);
    (void)timed.engine.step();
    timed.now += 0.01;
  }
  for (const auto& [id, s] : timed.engine.sequences()) EXPECT_GT(s.generated, 4U) << id;
  EXPECT_GT(timed.engine.preemptions(), 8U);
  EXPECT_LT(timed.engine.preemptions(), 80U) << "they take each other's places at once";
  return seen;
}

TEST(Auto, PreemptsAsTheOptionsSay) {
  SchedulerOptions wanted = options(0.1);
  EXPECT_EQ(hows(wanted), std::set{How::swap});
  wanted.preempt_by = PreemptBy::recompute;
  EXPECT_EQ(hows(wanted), std::set{How::recompute});
  wanted.preempt_by = PreemptBy::cheaper;
  wanted.recompute_seconds_per_token = 1;
  wanted.swap_seconds_per_block = 0.001;
  EXPECT_EQ(hows(wanted), std::set{How::swap});
  wanted.swap_seconds_per_block = 1000;
  EXPECT_EQ(hows(wanted), std::set{How::recompute});
}

// A small answer, and then prompts of 15 and 27 blocks at once: the device has 40, of which the
// answer could give three or four. The second prompt waits for the first one's answer to give way.
TEST(Auto, NobodyGivesWayWhereAllThatMayWouldNotMakeTheRoom) {
  SchedulerOptions wanted = options(0.1);
  wanted.budget_tokens = 128;
  Timed timed(wanted);
  timed.engine.arrive(8, 1000, false);
  for (int i = 0; i < 3; ++i) timed.step();
  timed.engine.arrive(60, 1000, false);
  const std::uint64_t large = timed.engine.arrive(108, 1000, false);
  EXPECT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
  EXPECT_TRUE(timed.engine.plan().preemptions.empty());
  for (int i = 0; i < 20; ++i) timed.step();
  EXPECT_GT(timed.engine.sequences().at(large).generated, 0U);
}

// Two of those who would have to go fit the swap space, not all.
TEST(Auto, NobodyGivesWayWhereTheSwapSpaceHasNoRoomForAllWhoWouldHaveTo) {
  SchedulerOptions wanted = options(0.1);
  wanted.swap_blocks = 15;
  Timed timed(wanted);
  for (int i = 0; i < 4; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 6; ++i) timed.step();
  timed.engine.arrive(120, 1000, false);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
    EXPECT_TRUE(timed.engine.plan().preemptions.empty());
    timed.step();
  }
}

// Who has been served as overdue, and whose hold is over, is not held anew by a failure.
TEST(Auto, WhoseCopiesFailAreOrderedAgain) {
  Timed timed(options(0.1));
  for (int i = 0; i < 12; ++i) timed.engine.arrive(20, 1000, false);
  std::size_t failed = 0;
  for (int i = 0; i < 120; ++i) {
    EXPECT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
    const Batch first = timed.engine.plan();
    if (first.moves()) {
      for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id, true);
      timed.engine.set_swap_blocks(UINT32_MAX);  // there is room after all
      const Batch again = timed.engine.plan();
      EXPECT_EQ(again.preemptions, first.preemptions) << i;
      EXPECT_EQ(again.page_ins, first.page_ins) << i;
      for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id);
      failed += first.preemptions.size();
    }
    timed.step();
  }
  EXPECT_GT(failed, 10U);
}

// The engine's swap space is full, or in pieces, which the scheduler is not told: every page-out
// that it orders fails.
class WithoutRoom : public ::testing::TestWithParam<const char*> {};

TEST_P(WithoutRoom, WhoCannotBeSentOutIsComputedMeanwhile) {
  Engine engine(GetParam(), options(0.1));
  for (const std::uint32_t prompt : {60U, 120U}) engine.arrive(prompt, 40, false);
  std::size_t failed = 0;
  for (int i = 0; i < 400 && !engine.sequences().empty(); ++i) {
    EXPECT_TRUE(engine.scheduler().set_time(i * 0.01).ok());
    const Batch& batch = engine.plan();
    if (batch.computes()) engine.run(1);
    for (const std::uint64_t id : engine.copies()) {
      const bool out = engine.sequences().at(id).where == EngineSequence::Where::going;
      engine.end_copy(id, out);
      failed += out ? 1 : 0;
    }
  }
  EXPECT_TRUE(engine.sequences().empty()) << engine.sequences().size() << " never end";
  EXPECT_EQ(failed > 0, std::string(GetParam()) != "vtc" && std::string(GetParam()) != "fcfs");
  EXPECT_LT(failed, 400 / options(0.1).slice_iterations) << "one a slice is tried";
}
INSTANTIATE_TEST_SUITE_P(Policies, WithoutRoom,
                         ::testing::Values("auto", "cfs", "las", "fcfs", "vtc"),
                         [](const auto& its) { return std::string(its.param); });

// A prompt of 2,000 blocks is computed meanwhile: it leaves no window to compute the lost answer
// again, which is the first to be due. The others only have to be brought in. One as large has been
// there before, so that nobody is overdue in this test.
TEST(Auto, AnAnswerThatIsComputedAgainKeepsNobodyOutside) {
  SchedulerOptions wanted = options(0.1);
  wanted.device_blocks = 2040;
  Timed timed(wanted);
  timed.engine.arrive(8000, 1, false);
  while (!timed.engine.sequences().empty()) timed.step();
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(timed.engine.arrive(20, 1000, false));
  for (int i = 0; i < 8; ++i) timed.step();
  timed.engine.arrive(8000, 10, false);
  for (int i = 0; i < 4; ++i) timed.step();
  const auto& all = timed.engine.sequences();
  const auto lost = std::find_if(ids.begin(), ids.end(), [&](std::uint64_t id) {
    return all.at(id).where == EngineSequence::Where::away;
  });
  ASSERT_NE(lost, ids.end()) << "nobody gave way to the prompt";
  timed.engine.lose(*lost);
  ids.erase(lost);
  for (int i = 0; i < 110; ++i) {
    timed.step();
    for (const std::uint64_t id : ids) EXPECT_LT(timed.behind(id, 0.1), 0.1) << id << " " << i;
  }
}

// Whoever is let in has blocks for all it knows: none comes back in part, with blocks that nobody
// can use until more come.
TEST(Auto, WhoComesBackIsComputedAtOnce) {
  std::size_t came = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Timed timed(options(0.03));
    std::set<std::uint64_t> due;  // to be computed: they have come back
    for (int i = 0; i < 200; ++i) {
      if (random() % 8 == 0) {
        timed.engine.arrive(1 + static_cast<std::uint32_t>(random() % 100),
                            1 + static_cast<std::uint32_t>(random() % 60), random() % 2 == 0);
      }
      EXPECT_TRUE(timed.engine.scheduler().set_time(timed.now).ok());
      for (Batch batch = timed.engine.plan();; batch = timed.engine.plan()) {
        for (const PageIn& in : batch.page_ins) due.insert(static_cast<std::uint64_t>(in.id));
        for (const Preemption& out : batch.preemptions) {
          EXPECT_FALSE(due.contains(static_cast<std::uint64_t>(out.id))) << "in, and out again";
        }
        if (!batch.moves()) {
          for (const SequenceId id : batch.decodes)
            came += due.erase(static_cast<std::uint64_t>(id));
          for (const PrefillChunk& chunk : batch.prefills) {
            came += due.erase(static_cast<std::uint64_t>(chunk.id));
          }
          EXPECT_TRUE(due.empty()) << i;
          if (batch.computes()) timed.engine.run();
          break;
        }
        for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id);
      }
      timed.now += 0.01;
    }
  }
  EXPECT_GT(came, 100U);
}

}  // namespace
}  // namespace aqua::schedule::test
