// SPDX-License-Identifier: Apache-2.0
// What is next of a mirror, by hand, and over random histories against both sides as they are.
#include "tools/courier/mirror/mirror_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace aqua::courier {
namespace {

SegmentStatus row(std::uint64_t number, std::uint64_t generation, std::uint64_t bytes = 10) {
  return {.name = {.number = number, .generation = generation, .bytes = bytes}};
}

TEST(MirrorPlan, WhatIsLackingIsNextByAgeAndThenWhatIsGoneIsForgotten) {
  MirrorPlan plan(5);
  plan.kept({row(7, 1)});
  plan.held({{5, 1, 1}, {5, 2, 1}, {5, 3, 1}});
  plan.kept({row(1, 1), row(2, 2), row(7, 1)});
  EXPECT_EQ(plan.behind(), (SegmentSum{2, 20}));
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 7U) << "known for longest";
  plan.landed(row(7, 1).name);
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 2U);
  plan.landed(row(2, 2).name);
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 2, 1}})) << "a later generation is kept";
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 3, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt);
}

TEST(MirrorPlan, WhereThereIsNoRoomOneIsTriedAtATimeAndRoomIsMade) {
  MirrorPlan plan(5);
  plan.held({{5, 9, 1}});
  plan.kept({row(1, 1), row(2, 1)});
  plan.no_room_for(std::get<SegmentName>(*plan.next()));
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 9, 1}}));
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 2U) << "what was forgotten has made room";
  plan.no_room_for(row(2, 1).name);
  EXPECT_EQ(plan.next(), std::nullopt);
  plan.retry();
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 1U) << "all have been tried";
}

TEST(MirrorPlan, WhatCannotBeCopiedIsTriedOnceAConnection) {
  MirrorPlan plan(5);
  plan.kept({row(1, 1)});
  plan.give_up(row(1, 1).name);
  plan.retry();
  EXPECT_EQ(plan.next(), std::nullopt);
  EXPECT_EQ(plan.behind(), (SegmentSum{1, 10}));
  plan.restart();
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 1U);
}

TEST(MirrorPlan, WhatTheKeeperBeforeHadStaysAndThatOfEarlierOnesGoesOnceThisOneHasCopies) {
  MirrorPlan plan(5);
  plan.held({{1, 1, 1}, {2, 8, 1}, {3, 1, 1}, {3, 2, 1}, {6, 1, 1}});
  plan.kept({});
  EXPECT_EQ(plan.next(), std::nullopt) << "they may be the last of what was lost";
  plan.kept({row(7, 1)});
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 7U);
  plan.landed(row(7, 1).name);
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{1, 1, 1}}));
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{2, 8, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt);
}

TEST(MirrorPlan, WhatAKeeperHasFoundOnItsDiskIsNotCopiedAgainAndIsForgottenWithIt) {
  MirrorPlan plan(5);
  plan.held({{3, 6, 1}, {3, 7, 1}, {3, 8, 2}, {3, 9, 1}});
  plan.kept({row(6, 1), row(7, 1), row(8, 3)});
  EXPECT_EQ(plan.behind(), (SegmentSum{1, 10}));
  EXPECT_EQ(std::get<SegmentName>(*plan.next()), row(8, 3).name) << "another generation";
  plan.landed(row(8, 3).name);
  EXPECT_EQ(plan.next(), std::nullopt) << "9 may be the last of what was lost";
  plan.kept({row(6, 1), row(8, 3)});
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{3, 7, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt);
  // Dropped while there was no connection.
  plan.restart();
  EXPECT_EQ(plan.behind(), (SegmentSum{2, 20}));
  plan.held({{3, 6, 1}, {3, 8, 2}, {3, 9, 1}, {5, 8, 3}});
  EXPECT_EQ(plan.behind(), SegmentSum{});
  plan.restart();
  plan.kept({row(8, 3)});
  plan.held({{3, 6, 1}, {3, 8, 2}, {3, 9, 1}, {5, 8, 3}});
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{3, 6, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt);
}

// As where the other keeper had no memory for what was on its disk, and has it now.
TEST(MirrorPlan, OfTwoCopiesOfWhatIsKeptTheOneUnderAnEarlierKeepersNameIsForgotten) {
  MirrorPlan plan(5);
  plan.kept({row(6, 1), row(7, 1)});
  plan.held({{3, 6, 1}, {3, 7, 1}, {3, 9, 1}, {5, 6, 1}});
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{3, 6, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt) << "of 7 there is one, and 9 may be the last of its own";
  EXPECT_EQ(plan.behind(), SegmentSum{});
  plan.kept({row(7, 1)});
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 6, 1}}));
  EXPECT_EQ(plan.next(), std::nullopt);
}

TEST(MirrorPlan, CopiesOfEarlierKeepersMakeRoomForTheFirstOfThisOne) {
  MirrorPlan plan(5);
  plan.held({{1, 1, 1}, {2, 8, 1}, {3, 1, 1}});
  plan.kept({row(7, 1)});
  for (const Original& earlier : {Original{1, 1, 1}, Original{2, 8, 1}}) {
    plan.no_room_for(std::get<SegmentName>(*plan.next()));
    EXPECT_EQ(std::get<Forget>(*plan.next()), Forget{earlier});
  }
  plan.no_room_for(std::get<SegmentName>(*plan.next()));
  EXPECT_EQ(plan.next(), std::nullopt) << "the keeper before is not among them";
}

TEST(MirrorPlan, NeitherCopiesNorWhatGoesWithAParcelNorWhatIsEmptyIsCopied) {
  MirrorPlan plan(5);
  SegmentStatus copy = row(1, 1), with_parcel = row(2, 1);
  copy.copy_of = SegmentOrigin{.server = "b.test", .keeper = 1, .number = 1, .generation = 1};
  with_parcel.parcel = 9;
  plan.kept({copy, with_parcel, row(3, 1, 0)});
  EXPECT_EQ(plan.next(), std::nullopt);
  EXPECT_EQ(plan.behind(), SegmentSum{});
}

// Both sides change and the connection is lost at random. Nothing is forgotten that is kept, and
// nothing while something else is lacking; once all is said, they agree.
TEST(MirrorPlan, BothSidesAgreeOnceAllIsSaid) {
  std::mt19937 random(7);
  const auto one_of = [&](std::uint32_t n) { return std::uint32_t(random() % n); };
  for (int round = 0; round < 300; ++round) {
    MirrorPlan plan(5);
    std::map<std::uint64_t, std::uint64_t> ours;  // generations
    std::set<Original> theirs;
    const auto rows = [&] {
      std::vector<SegmentStatus> all;
      for (const auto& [number, generation] : ours) all.push_back(row(number, generation));
      return all;
    };
    const auto lacking = [&] {
      return std::count_if(ours.begin(), ours.end(), [&](const auto& one) {
        return !theirs.contains({5, one.first, one.second});
      });
    };
    bool full = false;
    const auto say = [&](const MirrorPlan::Next& next) {
      if (const auto* forget = std::get_if<Forget>(&next)) {
        const auto kept = ours.find(forget->original.number);
        ASSERT_TRUE(kept == ours.end() || kept->second != forget->original.generation);
        ASSERT_TRUE(full || lacking() == 0);
        ASSERT_EQ(theirs.erase(forget->original), 1U);
        full = false;
        return;
      }
      const auto& name = std::get<SegmentName>(next);
      full = one_of(4) == 0;
      if (full) return plan.no_room_for(name);
      ASSERT_TRUE(theirs.insert(plan.original_of(name)).second);
      plan.landed(name);
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t number = 1 + one_of(8);
      switch (one_of(4)) {
        case 0:
          ours[number] += 1 + one_of(2);
          break;
        case 1:
          ours.erase(number);
          break;
        case 2:
          plan.restart();
          plan.held({theirs.begin(), theirs.end()});
          full = false;
          break;
        default:
          plan.kept(rows());
          if (const auto next = plan.next()) say(*next);
      }
    }
    plan.kept(rows());
    for (plan.retry(); const auto next = plan.next(); plan.retry()) say(*next);
    std::set<Original> expected;
    for (const auto& [number, generation] : ours) expected.insert({5, number, generation});
    ASSERT_EQ(theirs, expected) << round;
    ASSERT_EQ(plan.behind(), SegmentSum{});
  }
}

}  // namespace
}  // namespace aqua::courier
