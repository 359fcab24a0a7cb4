// SPDX-License-Identifier: Apache-2.0
// auto: prompts first, answers by the pace that readers are promised, and how it says what it does.
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "tests/systems/schedule/timed.hpp"

namespace aqua::schedule::test {
namespace {

TEST(Auto, APromptDoesNotWaitForThoseThatAnswer) {
  Timed timed(options(0.1));
  for (int i = 0; i < 4; ++i) timed.engine.arrive(20, 200, false);
  for (int i = 0; i < 30; ++i) timed.step();
  const std::uint64_t last = timed.engine.arrive(20, 200, false);
  timed.step();
  EXPECT_EQ(timed.engine.sequences().at(last).generated, 1U);
}

TEST(Auto, PromptsComeInTheOrderOfTheirArrival) {
  Timed timed(options(0.1));
  for (int i = 0; i < 4; ++i) timed.engine.arrive(20, 200, false);
  for (int i = 0; i < 30; ++i) timed.step();
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(timed.engine.arrive(60, 200, false));
  for (int i = 0; i < 40; ++i) {
    timed.step();
    bool answers = true;
    for (const std::uint64_t id : ids) {
      const bool mine = timed.engine.sequences().at(id).generated > 0;
      EXPECT_LE(mine, answers) << "sequence " << id << " before one that came earlier";
      answers = mine;
    }
  }
  EXPECT_GT(timed.engine.sequences().at(ids.back()).generated, 0U);
}

// Twelve answers in four places: ten iterations are a token's time, so that a third of them is
// plenty.
TEST(Auto, WhoIsAheadGivesWayAndAllKeepThePace) {
  Timed timed(options(0.1));
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(timed.engine.arrive(20, 1000, false));
  for (int i = 0; i < 20; ++i) timed.step();
  for (int i = 0; i < 80; ++i) {
    timed.step();
    for (const std::uint64_t id : ids) EXPECT_LT(timed.behind(id, 0.1), 0.4) << id;
  }
  const SchedulerStatus status = timed.engine.scheduler().status();
  EXPECT_EQ(status.sharing, Sharing::fair);
  EXPECT_EQ(status.paced, 12U);
  EXPECT_EQ(status.backlog, 0U);
  EXPECT_GT(timed.engine.preemptions(), 8U);
}

// A token's time is an iteration and a half: four places keep six at their pace, not twelve. In
// turns of all each would be 0.3 s behind.
TEST(Auto, BeyondWhatItSustainsAsManyKeepTheirPaceAsItDoes) {
  SchedulerOptions wanted = options(0.015);
  wanted.slice_iterations = 32;  // nobody is overdue in this test
  Timed timed(wanted);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 12; ++i) ids.push_back(timed.engine.arrive(12, 140, false));
  std::map<std::uint64_t, double> behind;
  for (int i = 0; i < 100; ++i) {
    if (i == 60) {
      for (const std::uint64_t id : ids) behind[id] = timed.behind(id, 0.015);
    }
    timed.step();
  }
  const SchedulerStatus status = timed.engine.scheduler().status();
  EXPECT_EQ(status.sharing, Sharing::partial);
  EXPECT_GE(status.paced, 2U);
  EXPECT_LE(status.paced, 6U);
  EXPECT_EQ(status.paced + status.backlog, 12U);
  EXPECT_GT(status.switched_to[static_cast<std::size_t>(Sharing::partial)], 0U);
  std::size_t keep = 0;
  // Nobody was sent back in the first iterations, so that all fell behind: who is paced catches up.
  // By now they have grown, and two have places.
  for (const std::uint64_t id : ids) keep += timed.behind(id, 0.015) < behind[id];
  EXPECT_GE(keep, 2U);
  EXPECT_FALSE(why(status.sharing).empty());
}

TEST(Auto, WhereThereIsNoSwapSpaceNobodyGivesWay) {
  SchedulerOptions none = options(0.1);
  none.swap_blocks = 0;
  none.slice_iterations = 2;
  Timed timed(none);
  for (int i = 0; i < 12; ++i) timed.engine.arrive(17, 4, true);  // eight fit, to their end
  bool said = false;
  for (int i = 0; i < 12; ++i) {
    timed.step();
    said = said || timed.engine.scheduler().status().sharing == Sharing::none;
  }
  EXPECT_TRUE(said);
  EXPECT_EQ(timed.engine.preemptions(), 0U);
}

// Where page-outs should go, by the seconds that a block takes to and from lent and host memory.
std::set<Tier> tiers_out(Timed& timed) {
  for (int i = 0; i < 12; ++i) timed.engine.arrive(20, 1000, false);
  std::set<Tier> tiers;
  for (int i = 0; i < 60; ++i) {
    const Batch batch = timed.engine.plan();
    for (const Preemption& out : batch.preemptions) {
      EXPECT_EQ(out.how, Preemption::How::swap);
      tiers.insert(out.to);
    }
    for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id);
    if (timed.engine.plan().computes()) timed.engine.run();
    for (const std::uint64_t id : timed.engine.copies()) timed.engine.end_copy(id);
  }
  while (!timed.engine.sequences().empty()) {
    timed.engine.finish(timed.engine.sequences().begin()->first);
  }
  return tiers;
}

std::set<Tier> tiers_out(const SchedulerOptions& options, Tier swap_tier = Tier::peer) {
  Timed timed(options);
  timed.engine.scheduler().set_swap_tier(swap_tier);
  return tiers_out(timed);
}

TEST(Auto, APageOutGoesWhereItComesBackFromSoonest) {
  SchedulerOptions known = options(0.1);
  EXPECT_EQ(tiers_out(known), std::set{Tier::peer}) << "costs are not known";
  known.peer_seconds_per_block = 0.001;
  known.host_seconds_per_block = 0.01;
  EXPECT_EQ(tiers_out(known), std::set{Tier::peer});
  EXPECT_EQ(tiers_out(known, Tier::host), std::set{Tier::host}) << "lent memory is full";
  known.host_seconds_per_block = 0.0001;
  EXPECT_EQ(tiers_out(known), std::set{Tier::host});
}

TEST(Auto, PageOutsFollowWhatIsMeasuredAndNotEveryDifference) {
  Timed timed(options(0.1));
  const auto tiers_with = [&](Tier tier, double seconds) {
    EXPECT_TRUE(timed.engine.scheduler().set_seconds_per_block(tier, seconds).ok());
    return tiers_out(timed);
  };
  const std::set lent{Tier::peer}, host{Tier::host};
  EXPECT_EQ(tiers_with(Tier::host, 0.010), lent) << "what lent memory takes is not known";
  EXPECT_EQ(tiers_with(Tier::peer, 0.010), lent);
  EXPECT_EQ(tiers_with(Tier::host, 0.009), lent) << "a little sooner, now and then";
  EXPECT_EQ(tiers_with(Tier::host, 0.007), host);
  EXPECT_EQ(tiers_with(Tier::host, 0.009), host) << "back at once";
  EXPECT_EQ(tiers_with(Tier::host, 0.010), lent);
}

TEST(Auto, WhereAllFitItSaysSo) {
  Timed timed(options(0.1));
  timed.engine.arrive(20, 20, true);
  for (int i = 0; i < 12; ++i) timed.step();
  EXPECT_EQ(timed.engine.scheduler().status().sharing, Sharing::whole);
  for (const std::uint64_t times : timed.engine.scheduler().status().switched_to) {
    EXPECT_EQ(times, 0U);
  }
}

TEST(Auto, TimesThatCannotBeAreNamedAndChangeNothing) {
  for (const char* policy : {"auto", "fcfs"}) {
    const auto made = make_scheduler(policy, options(0.1));
    Scheduler& scheduler = **made;
    EXPECT_TRUE(scheduler.set_time(2).ok());
    for (const double wrong : {-1.0, 1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      const auto told = scheduler.set_time(wrong);
      ASSERT_FALSE(told.ok()) << wrong;
      EXPECT_EQ(told.error().code, Code::invalid_argument);
      EXPECT_NE(told.error().message.find("set_time"), std::string::npos);
    }
    EXPECT_TRUE(scheduler.set_time(2).ok()) << "a wrong time was kept";
  }
}

TEST(Auto, APaceThatCannotBeIsNamed) {
  for (const double wrong :
       {0.0, -0.1, 1e-300, 1e300, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto made = make_scheduler("auto", options(wrong));
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_NE(made.error().message.find("seconds_per_token"), std::string::npos);
  }
}

}  // namespace
}  // namespace aqua::schedule::test
