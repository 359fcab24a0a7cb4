// SPDX-License-Identifier: Apache-2.0
// What is next, over random histories, against a naive one that knows all of both sides.
#include "tools/courier/mirror/mirror_plan.hpp"

#include <gtest/gtest.h>

#include <random>

namespace aqua::courier {
namespace {

SegmentStatus row(std::uint64_t number, std::uint64_t generation, std::uint64_t bytes = 10) {
  return {.name = {.number = number, .generation = generation, .bytes = bytes}};
}

TEST(MirrorPlan, TheOldestIsNextAndWhatIsGoneIsForgottenFirst) {
  MirrorPlan plan(5);
  plan.held({{5, 1, 1}, {5, 2, 1}, {5, 3, 1}});
  plan.kept({row(1, 1), row(2, 2), row(7, 1), row(8, 1)});
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 2, 1}})) << "a later generation is kept";
  EXPECT_EQ(std::get<Forget>(*plan.next()), (Forget{{5, 3, 1}}));
  EXPECT_EQ(plan.behind(), (SegmentSum{3, 30}));
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 2U);
  plan.put_off(row(2, 2).name);
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 7U);
  plan.landed(row(7, 1).name);
  plan.landed(row(8, 1).name);
  EXPECT_EQ(plan.next(), std::nullopt);
  plan.retry();
  EXPECT_EQ(std::get<SegmentName>(*plan.next()).number, 2U);
}

TEST(MirrorPlan, WhatAnEarlierKeeperHadStays) {
  MirrorPlan plan(5);
  plan.held({{4, 1, 1}, {6, 1, 1}});
  plan.kept({});
  EXPECT_EQ(plan.next(), std::nullopt);
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

// Both sides change and the connection is lost at random; once all is said, they agree.
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
    const auto say = [&](const MirrorPlan::Next& next) {
      if (const auto* forget = std::get_if<Forget>(&next)) {
        ASSERT_EQ(theirs.erase(forget->original), 1U);
        return;
      }
      const auto& name = std::get<SegmentName>(next);
      if (one_of(4) == 0) return plan.put_off(name);
      ASSERT_TRUE(theirs.insert(plan.original_of(name)).second);
      plan.landed(name);
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t number = 1 + one_of(8);
      switch (one_of(4)) {
        case 0:
          ++ours[number];
          break;
        case 1:
          ours.erase(number);
          break;
        case 2:
          plan.restart();
          plan.held({theirs.begin(), theirs.end()});
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
