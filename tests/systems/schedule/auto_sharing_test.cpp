// SPDX-License-Identifier: Apache-2.0
// auto: how many are paced, from what is measured, and when that is a switch of sharing.
#include <algorithm>

#include "tests/systems/schedule/timed.hpp"

namespace aqua::schedule::test {
namespace {

// Four places are four tokens in an iteration, which takes 0.01 s: enough for twelve answers at
// 0.045 s, were it not that whoever changes places stops the engine for 0.2 s.
TEST(Auto, TimeThatCopiesTakeFromTheEngineCountsInWhatItSustains) {
  for (const double stall : {0.0, 0.2}) {
    Timed timed(options(0.045));
    for (int i = 0; i < 12; ++i) timed.engine.arrive(20, 1000, false);
    std::size_t most = 0;
    for (int i = 0; i < 70; ++i) {
      timed.step(0.01, stall);
      if (i >= 20) most = std::max(most, timed.engine.scheduler().status().backlog);
    }
    if (stall > 0) {
      EXPECT_GE(most, 4U);
    } else {
      EXPECT_EQ(most, 0U);
    }
  }
}

// Eight prompts in one long iteration, and then another: of neither anything is concluded.
TEST(Auto, TheFirstTimeThatMemoryIsShortNothingIsConcludedFromAFewIterations) {
  SchedulerOptions wanted = options(0.1);
  wanted.budget_tokens = 256;
  Timed timed(wanted);
  for (int i = 0; i < 4; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 20; ++i) timed.step();
  for (int i = 0; i < 8; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 12; ++i) {
    timed.step(i < 4 ? 0.5 : 0.01);
    EXPECT_EQ(timed.engine.scheduler().status().backlog, 0U) << i;
    const Sharing is = timed.engine.scheduler().status().sharing;
    EXPECT_TRUE(is == Sharing::whole || is == Sharing::fair) << to_string(is);
  }
}

TEST(Auto, AFewLongIterationsAreNoReasonToShareOtherwise) {
  Timed timed(options(0.1));
  for (int i = 0; i < 12; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 60; ++i) timed.step();
  const auto before = timed.engine.scheduler().status().switched_to;
  for (int i = 0; i < 40; ++i) {
    timed.step(i < 3 ? 0.3 : 0.01);
    EXPECT_EQ(timed.engine.scheduler().status().backlog, 0U) << i;
  }
  EXPECT_EQ(timed.engine.scheduler().status().switched_to, before);
}

// Swap space that is now full and now not, and places that are now enough and now not.
TEST(Auto, NoSwitchFollowsAnotherWithinASlice) {
  int switches = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    SchedulerOptions wanted = options(0.02);
    wanted.swap_blocks = 24;
    Timed timed(wanted);
    Sharing last = Sharing::whole;
    std::uint64_t since = 0;
    for (int i = 0; i < 300; ++i) {
      if (random() % 8 == 0) {
        const auto prompt = 1 + static_cast<std::uint32_t>(random() % 30);
        timed.engine.arrive(prompt, 1 + static_cast<std::uint32_t>(random() % 60), true);
      }
      timed.step();
      const Sharing is = timed.engine.scheduler().status().sharing;
      if (is == last) continue;
      const std::uint64_t at = timed.engine.iterations();
      EXPECT_GE(at - since, wanted.slice_iterations) << "seed " << seed << ", iteration " << at;
      last = is;
      since = at;
      ++switches;
    }
  }
  EXPECT_GT(switches, 20);
}

// Four places of one block each, in which an answer never grows: 24 answers are sustained where an
// iteration takes 10 ms, and 20 where it takes 12. What is sustained goes to and fro between these
// with forty answers that never end, of which none is overdue in so many iterations. Were answers
// paced again up to what others are sent back beyond, three of them would go to and fro as well.
TEST(Auto, AtTheLimitOfWhatIsSustainedNobodyGoesToAndFroBetweenPaceAndBacklog) {
  SchedulerOptions wanted = options(0.061);
  wanted.slice_iterations = 32;
  wanted.block_tokens = 4096;
  wanted.device_blocks = 4;
  Timed timed(wanted);
  for (int i = 0; i < 40; ++i) timed.engine.arrive(20, 100'000, false);
  std::size_t last = 0, moves = 0;
  for (int i = 0; i < 2400; ++i) {
    timed.step(i / 300 % 2 == 0 ? 0.010 : 0.012);
    const std::size_t backlog = timed.engine.scheduler().status().backlog;
    if (i >= 600) moves += backlog > last ? backlog - last : last - backlog;
    last = backlog;
  }
  const SchedulerStatus status = timed.engine.scheduler().status();
  EXPECT_GE(status.paced, 15U);
  EXPECT_LE(status.paced, 23U);
  EXPECT_EQ(status.paced + last, 40U);
  EXPECT_NEAR(status.asked_per_second, static_cast<double>(status.paced) / 0.061, 1e-3);
  EXPECT_GT(status.sustained_per_second, 4 / 0.0121);
  EXPECT_LT(status.sustained_per_second, 4 / 0.0110);
  EXPECT_LE(moves, 4U) << "in three times 600 iterations";
}

// Each prompt's beginning is fetched while the others compute, and memory suffices for all. Four
// fifths of the pace is more than newcomers would be paced up to, if somebody had to wait.
TEST(Auto, PrefixesOnTheirWayInAreNoShortageOfMemory) {
  SchedulerOptions wanted = options(0.0125);
  wanted.device_blocks = 400;
  Timed timed(wanted);
  Engine& engine = timed.engine;
  std::size_t fetches = 0;
  for (int i = 0; i < 100; ++i) {
    engine.arrive(16, 20, true, 1, 0, 12);
    EXPECT_TRUE(engine.scheduler().set_time(timed.now).ok());
    const std::vector<std::uint64_t> over = engine.copies();
    for (const std::uint64_t id : over) engine.end_copy(id);
    const Batch batch = engine.plan();
    EXPECT_TRUE(batch.preemptions.empty()) << i;
    fetches += batch.page_ins.size();
    if (batch.computes()) engine.run();
    timed.now += 0.01;
    const SchedulerStatus status = engine.scheduler().status();
    EXPECT_EQ(status.sharing, Sharing::whole) << i;
    EXPECT_EQ(status.backlog, 0U) << i;
  }
  EXPECT_EQ(fetches, 100U);
}

TEST(Auto, ABurstThatIsOverIsForgottenWithinASlice) {
  Timed timed(options(0.015));
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(timed.engine.arrive(12, 1000, false));
  for (int i = 0; i < 60; ++i) timed.step();
  ASSERT_EQ(timed.engine.scheduler().status().sharing, Sharing::partial);
  ASSERT_GT(timed.engine.scheduler().status().backlog, 0U);
  for (std::size_t i = 0; i < 10; ++i) timed.engine.finish(ids[i]);
  for (int i = 0; i < 12; ++i) timed.step();
  EXPECT_EQ(timed.engine.scheduler().status().sharing, Sharing::whole);
  EXPECT_EQ(timed.engine.scheduler().status().backlog, 0U);
  // The last burst says nothing of the next one but that answers are short: the two that have gone
  // on may be hopeless.
  for (int i = 0; i < 10; ++i) timed.engine.arrive(20, 1000, false);
  for (int i = 0; i < 10; ++i) {
    timed.step();
    EXPECT_LE(timed.engine.scheduler().status().backlog, 2U) << i;
  }
}

// A pace of a ten-millionth of a second is nobody's: it would be hopeless at once, and the heaviest
// the last to be served.
TEST(Auto, TheHeaviestAreServedMostAndStarveNobody) {
  for (const double light : {1.0, 0.5, kLeastWeight}) {
    SCOPED_TRACE(light);
    Timed timed(options(0.1));
    std::vector<std::uint64_t> heavy, others;
    for (int i = 0; i < 12; ++i) {
      const bool weighs = i % 4 == 3;
      auto& ids = weighs ? heavy : others;
      ids.push_back(timed.engine.arrive(20, 1000, false,
                                        weighs   ? kGreatestWeight
                                        : i == 0 ? light
                                                 : 1));
    }
    for (int i = 0; i < 90; ++i) timed.step();
    const SchedulerStatus status = timed.engine.scheduler().status();
    EXPECT_EQ(status.paced, 12U);
    EXPECT_EQ(status.backlog, 0U);
    std::uint32_t least = UINT32_MAX, most = 0;
    for (const std::uint64_t id : heavy) {
      least = std::min(least, timed.engine.sequences().at(id).generated);
    }
    for (const std::uint64_t id : others) {
      most = std::max(most, timed.engine.sequences().at(id).generated);
      if (id != others.front()) {
        EXPECT_LT(timed.behind(id, 0.1), 0.4) << id;
      }
    }
    EXPECT_GE(least, most);
    for (int i = 0; i < 160; ++i) timed.step();  // till the lightest is overdue
    for (const std::uint64_t id : others) {
      EXPECT_GT(timed.engine.sequences().at(id).generated, 1U) << id;
    }
  }
}

}  // namespace
}  // namespace aqua::schedule::test
