// SPDX-License-Identifier: Apache-2.0
// What packers do, case by case.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/systems/packing/cluster.hpp"

namespace aqua::packing::test {
namespace {

constexpr PackerOptions plain{.watermark = 0, .near_slack = 0, .block_tokens = 1};

Cluster cluster_of(const std::string& policy, std::vector<std::uint64_t> capacities,
                   const PackerOptions& options = plain) {
  Cluster::Packers one;
  one.push_back(make_packer(policy, options).value());
  Cluster cluster(std::move(one), options);
  std::uint64_t id = 0;
  for (const std::uint64_t capacity : capacities) {
    EXPECT_TRUE(cluster.join({.id = EngineId{++id}, .kv_tokens = capacity}));
  }
  return cluster;
}

Placement arrive(Cluster& cluster, std::uint64_t id, std::uint64_t tokens) {
  EXPECT_TRUE(cluster.arrive({.id = RequestId{id}, .tokens = tokens}));
  const auto is = cluster.packer().request(RequestId{id});
  return {RequestId{id}, is->engine};
}

TEST(Packer, BestFitFillsAndWorstFitSpreads) {
  for (const bool worst : {false, true}) {
    Cluster cluster = cluster_of(worst ? "wf" : "bf", {100, 100});
    EXPECT_EQ(arrive(cluster, 1, 60).engine, EngineId{1});
    EXPECT_EQ(arrive(cluster, 2, 50).engine, EngineId{2}) << "wakes where there is no room";
    EXPECT_EQ(arrive(cluster, 3, 10).engine, EngineId{worst ? 2U : 1U});
  }
}

TEST(Packer, TheCheapestSleepingEngineThatIsLargeEnoughWakes) {
  Cluster cluster = cluster_of("pack", {});
  const auto join = [&](std::uint64_t id, std::uint64_t kv, double cost) {
    ASSERT_TRUE(cluster.join({.id = EngineId{id}, .kv_tokens = kv, .wake_cost = cost}));
  };
  join(1, 100, 5);
  join(2, 100, 1);
  join(3, 50, 0);
  EXPECT_EQ(arrive(cluster, 1, 60).engine, EngineId{2});
  EXPECT_EQ(arrive(cluster, 2, 45).engine, EngineId{3});
}

TEST(Packer, WhoFindsNoRoomWaitsAndNobodyOvertakes) {
  for (const std::string& policy : packer_names()) {
    Cluster cluster = cluster_of(policy, {100});
    EXPECT_EQ(arrive(cluster, 1, 80).engine, EngineId{1});
    EXPECT_EQ(arrive(cluster, 2, 30).engine, no_engine);
    EXPECT_EQ(arrive(cluster, 3, 10).engine, no_engine) << "would fit";
    EXPECT_TRUE(cluster.epoch().placements.empty());
    ASSERT_TRUE(cluster.end(RequestId{1}));
    const Plan& plan = cluster.epoch();
    ASSERT_EQ(plan.placements.size(), 2U);
    EXPECT_EQ(plan.placements[0].request, RequestId{2});
    EXPECT_EQ(plan.placements[1].request, RequestId{3});
  }
}

TEST(Packer, AFullEngineIsRelievedByTheSmallestThatDoesItAlone) {
  Cluster cluster = cluster_of("drain", {100, 100});
  for (std::uint64_t id = 1; id <= 3; ++id) arrive(cluster, id, 10 + 20 * id);  // 30, 50, 70
  ASSERT_EQ(cluster.held(EngineId{1}), 80U);
  ASSERT_TRUE(cluster.grow(RequestId{2}, 75));  // 105 on engine 1, 70 on engine 2
  const Plan& plan = cluster.epoch();
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].request, RequestId{1});
  EXPECT_EQ(plan.moves[0].to, EngineId{2});
  EXPECT_EQ(plan.moves[0].reason, Reason::overload);
  EXPECT_EQ(plan.moves[0].tokens, 30U);
  EXPECT_EQ(cluster.packer().status().held_tokens, 175U + 30U) << "on both ends";
}

TEST(Packer, WithoutMovesTheLastThatCameIsPreempted) {
  Cluster cluster = cluster_of("bf", {100, 100});
  arrive(cluster, 1, 50);
  arrive(cluster, 2, 30);
  arrive(cluster, 3, 20);
  ASSERT_TRUE(cluster.grow(RequestId{1}, 60));
  const Plan& plan = cluster.epoch();
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0], (Preemption{RequestId{3}, EngineId{1}, 20}));
  ASSERT_EQ(plan.placements.size(), 1U) << "it is computed again where there is room";
  EXPECT_EQ(plan.placements[0].engine, EngineId{2});
  EXPECT_TRUE(plan.placements[0].wakes);
  EXPECT_EQ(plan.wake, std::vector<EngineId>{EngineId{2}});
}

TEST(Packer, WhoGrowsBeyondEveryEngineIsNamedUntilItEnds) {
  for (const std::string& policy : packer_names()) {
    Cluster cluster = cluster_of(policy, {100, 100});
    arrive(cluster, 1, 90);
    ASSERT_TRUE(cluster.grow(RequestId{1}, 101));
    EXPECT_EQ(cluster.epoch().too_large, std::vector<RequestId>{RequestId{1}});
    EXPECT_EQ(arrive(cluster, 2, 50).engine, EngineId{1}) << "does not wait behind it";
    EXPECT_EQ(cluster.epoch().too_large, std::vector<RequestId>{RequestId{1}});
    ASSERT_TRUE(cluster.join({.id = EngineId{3}, .kv_tokens = 200}));
    EXPECT_EQ(cluster.epoch().placements.size(), 1U) << "now there is one";
  }
}

TEST(Packer, AnEngineThatEmptiesIsFreedOnce) {
  for (const std::string& policy : packer_names()) {
    Cluster cluster = cluster_of(policy, {100});
    arrive(cluster, 1, 50);
    EXPECT_TRUE(cluster.epoch().freed.empty());
    ASSERT_TRUE(cluster.end(RequestId{1}));
    EXPECT_EQ(cluster.epoch().freed, std::vector<EngineId>{EngineId{1}});
    EXPECT_TRUE(cluster.epoch().freed.empty());
  }
}

TEST(Packer, TheEmptiestEngineIsEmptiedWhenAllOfItFitsElsewhere) {
  for (const char* policy : {"drain", "pack"}) {
    Cluster cluster = cluster_of(policy, {100, 100});
    arrive(cluster, 1, 70);
    arrive(cluster, 2, 40);
    ASSERT_TRUE(cluster.epoch().moves.empty());
    arrive(cluster, 3, 20);
    ASSERT_TRUE(cluster.end(RequestId{1}));
    const Plan& plan = cluster.epoch();
    ASSERT_EQ(plan.moves.size(), 1U);
    EXPECT_EQ(plan.moves[0].reason, Reason::empties);
    cluster.end_moves();
    EXPECT_EQ(cluster.epoch().freed.size(), 1U);
  }
}

// An M belongs beside the L, whose tiny guest then belongs where the M was: neither has room for
// both.
TEST(Packer, ACycleBreaksByTheSmallest) {
  Cluster cluster = cluster_of("mell", {100, 100, 100});
  arrive(cluster, 1, 45);  // M on engine 1
  arrive(cluster, 2, 20);  // T beside it
  arrive(cluster, 3, 20);
  arrive(cluster, 4, 55);  // L on engine 2
  arrive(cluster, 5, 24);  // T in the gap beside the L
  ASSERT_EQ(cluster.requests().at(RequestId{5}).engine, EngineId{2});
  const Plan& plan = cluster.epoch();
  ASSERT_EQ(plan.moves.size(), 2U);
  EXPECT_EQ(plan.moves[0].request, RequestId{1});
  EXPECT_EQ(plan.moves[0].stage, 0U);
  EXPECT_FALSE(plan.moves[0].dropped);
  EXPECT_EQ(plan.moves[1].request, RequestId{5});
  EXPECT_EQ(plan.moves[1].to, EngineId{1});
  EXPECT_EQ(plan.moves[1].stage, 1U);
  EXPECT_TRUE(plan.moves[1].dropped);
  EXPECT_TRUE(plan.wake.empty()) << "engine 3 was thought of, and is not needed";
  ASSERT_TRUE(cluster.end_move(RequestId{5}, true));
  EXPECT_EQ(cluster.packer().request(RequestId{5})->state, RequestState::waiting)
      << "its KV is nowhere";
  ASSERT_TRUE(cluster.end_move(RequestId{1}, true));
  EXPECT_EQ(cluster.packer().request(RequestId{1})->engine, EngineId{1}) << "as if nothing was";
}

TEST(Packer, APrefixCountsOnceOnAnEngineAndDrawsThoseWhoShareIt) {
  for (const std::string& policy : packer_names()) {
    Cluster cluster = cluster_of(policy, {100, 100});
    const auto come = [&](std::uint64_t id, std::uint64_t tokens) {
      ASSERT_TRUE(cluster.arrive(
          {.id = RequestId{id}, .tokens = tokens, .prefix = PrefixId{7}, .prefix_tokens = 40}));
    };
    come(1, 50);
    arrive(cluster, 2, 80);
    come(3, 60);
    EXPECT_EQ(cluster.requests().at(RequestId{3}).engine,
              cluster.requests().at(RequestId{1}).engine);
    EXPECT_EQ(cluster.held(EngineId{1}), 40U + 10 + 20);
    EXPECT_EQ(cluster.packer().engine(EngineId{1})->held_tokens, 70U);
    ASSERT_TRUE(cluster.end(RequestId{1}));
    EXPECT_EQ(cluster.packer().engine(EngineId{1})->held_tokens, 60U);
  }
}

TEST(Packer, ANearerEngineIsTakenWhenItsRoomIsAboutTheSame) {
  for (const double slack : {0.0, 0.2}) {
    PackerOptions options = plain;
    options.near_slack = slack;
    Cluster cluster = cluster_of("drain", {}, options);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      ASSERT_TRUE(cluster.join(
          {.id = EngineId{id}, .kv_tokens = 100, .server = ServerId{id == 2 ? 2U : 1U}}));
    }
    arrive(cluster, 1, 70);  // on engine 1
    arrive(cluster, 2, 65);  // on engine 2, of another server
    arrive(cluster, 3, 60);  // on engine 3, of the same
    arrive(cluster, 4, 30);
    ASSERT_EQ(cluster.requests().at(RequestId{4}).engine, EngineId{1});
    ASSERT_TRUE(cluster.grow(RequestId{1}, 71));
    const Plan& plan = cluster.epoch();
    ASSERT_EQ(plan.moves.size(), 1U);
    EXPECT_EQ(plan.moves[0].to, EngineId{slack > 0 ? 3U : 2U});
  }
}

TEST(Packer, WhatIsReservedDoesNotOverflow) {
  PackerOptions options = plain;
  options.reserve = true;
  Cluster cluster = cluster_of("bf", {100, 100}, options);
  ASSERT_TRUE(cluster.arrive({.id = RequestId{1}, .tokens = 10, .max_new = 50}));
  ASSERT_TRUE(cluster.arrive({.id = RequestId{2}, .tokens = 10, .max_new = 50}));
  EXPECT_NE(cluster.requests().at(RequestId{2}).engine, EngineId{1});
  ASSERT_TRUE(cluster.grow(RequestId{1}, 60));
  EXPECT_EQ(cluster.held(EngineId{1}), 60U);
  EXPECT_TRUE(cluster.epoch().preemptions.empty());
  EXPECT_FALSE(cluster.arrive({.id = RequestId{3}, .tokens = 60, .max_new = 50}))
      << "its final size fits nowhere";
}

TEST(Packer, ADeadEnginesRequestsWaitAndArePlacedAnew) {
  for (const std::string& policy : packer_names()) {
    Cluster cluster = cluster_of(policy, {100, 100});
    arrive(cluster, 1, 50);
    arrive(cluster, 2, 40);
    const EngineId where = cluster.requests().at(RequestId{1}).engine;
    ASSERT_TRUE(cluster.lose(where));
    EXPECT_EQ(cluster.packer().status().waiting, 2U);
    EXPECT_EQ(cluster.epoch().placements.size(), 2U);
  }
}

TEST(Packer, LoadsAreBalancedByMovesThatHalveTheDifferenceAtMost) {
  Cluster cluster = cluster_of("lb", {100, 100});
  for (std::uint64_t id = 1; id <= 4; ++id) arrive(cluster, id, 20);  // 80 on engine 1
  arrive(cluster, 5, 30);                                             // wakes engine 2
  const Plan& plan = cluster.epoch();
  ASSERT_EQ(plan.moves.size(), 1U);
  EXPECT_EQ(plan.moves[0].reason, Reason::balances);
  EXPECT_EQ(plan.moves[0].tokens, 20U);
}

// An M beside an L, which pushes a tiny one out of the way: the tiny one goes first.
TEST(Packer, AMoveWaitsForTheRoomThatAnotherMakes) {
  Cluster cluster = cluster_of("mell", {100, 100, 100});
  arrive(cluster, 1, 45);  // M on engine 1
  arrive(cluster, 2, 20);  // T beside it
  arrive(cluster, 3, 20);
  arrive(cluster, 4, 55);  // L on engine 2
  arrive(cluster, 5, 24);  // T in the gap beside the L
  arrive(cluster, 6, 76);  // L on engine 3, with room for the T
  ASSERT_EQ(cluster.requests().at(RequestId{5}).engine, EngineId{2});
  const Plan& plan = cluster.epoch();
  const auto find = [&](std::uint64_t id) {
    return std::find_if(plan.moves.begin(), plan.moves.end(),
                        [&](const Move& m) { return m.request == RequestId{id}; });
  };
  ASSERT_NE(find(1), plan.moves.end());
  ASSERT_NE(find(5), plan.moves.end());
  EXPECT_EQ(find(1)->reason, Reason::beside_large);
  EXPECT_EQ(find(5)->reason, Reason::makes_room);
  EXPECT_LT(find(5)->stage, find(1)->stage);
  EXPECT_EQ(find(1)->to, EngineId{2});
}

// An engine of 1000 tokens may be filled to 950: of requests with 50 and 955 only the 50 can move.
TEST(Packer, WhoeverCanGoGoesWhereTheOneThatWouldDoAloneCannot) {
  PackerOptions options = plain;
  options.watermark = 0.05;
  for (const char* policy : {"lb", "drain", "mell", "pack"}) {
    Cluster cluster = cluster_of(policy, {1000, 1000}, options);
    arrive(cluster, 1, 40);
    arrive(cluster, 2, 900);
    ASSERT_TRUE(cluster.grow(RequestId{1}, 50));
    ASSERT_TRUE(cluster.grow(RequestId{2}, 955));
    const Plan& plan = cluster.epoch();
    ASSERT_EQ(plan.moves.size(), 1U) << policy;
    EXPECT_EQ(plan.moves[0].request, RequestId{1});
    EXPECT_TRUE(plan.preemptions.empty());
    EXPECT_TRUE(plan.too_large.empty());
  }
  Cluster cluster = cluster_of("bf", {1000, 1000}, options);
  arrive(cluster, 1, 40);
  arrive(cluster, 2, 900);
  ASSERT_TRUE(cluster.grow(RequestId{1}, 50));
  ASSERT_TRUE(cluster.grow(RequestId{2}, 955));
  const Plan& plan = cluster.epoch();
  ASSERT_EQ(plan.preemptions.size(), 1U);
  EXPECT_EQ(plan.preemptions[0].request, RequestId{1}) << "who can be placed again";
  EXPECT_TRUE(plan.too_large.empty());
}

TEST(Packer, NoEngineWakesForALargeOneWhereSmallOnesFit) {
  Cluster cluster = cluster_of("drain", {1000, 1000, 1000});
  arrive(cluster, 1, 800);
  for (std::uint64_t id = 2; id <= 5; ++id) arrive(cluster, id, 50);
  arrive(cluster, 6, 700);
  ASSERT_TRUE(cluster.grow(RequestId{1}, 860));
  const Plan& plan = cluster.epoch();
  EXPECT_EQ(plan.moves.size(), 2U);
  for (const Move& move : plan.moves) EXPECT_EQ(move.to, EngineId{2});
  EXPECT_TRUE(plan.wake.empty());
}

// 300 tokens in five requests fit beside the 320 of another engine, but a plan moves two.
TEST(Packer, AnEngineIsEmptiedByAsManyPlansAsItTakes) {
  PackerOptions options = plain;
  options.max_moves = 2;
  for (const char* policy : {"drain", "pack"}) {
    Cluster cluster = cluster_of(policy, {1000, 1000}, options);
    arrive(cluster, 1, 600);
    for (std::uint64_t id = 2; id <= 6; ++id) arrive(cluster, id, 60);
    arrive(cluster, 7, 320);
    ASSERT_TRUE(cluster.epoch().moves.empty());
    ASSERT_TRUE(cluster.end(RequestId{1}));
    for (const std::size_t moves : {2U, 2U, 1U}) {
      EXPECT_EQ(cluster.epoch().moves.size(), moves) << policy;
      cluster.end_moves();
    }
    EXPECT_EQ(cluster.epoch().freed, std::vector<EngineId>{EngineId{1}});
  }
}

TEST(Packer, AMoveUnderWayKeepsNoOtherEngineFromBeingEmptied) {
  for (const char* policy : {"drain", "pack"}) {
    Cluster cluster = cluster_of(policy, {100, 100, 100});
    arrive(cluster, 1, 70);  // on engine 1
    arrive(cluster, 2, 75);  // on engine 2
    arrive(cluster, 3, 60);  // on engine 3
    arrive(cluster, 4, 30);
    arrive(cluster, 5, 25);
    arrive(cluster, 6, 40);
    for (const std::uint64_t id : {1U, 2U}) ASSERT_TRUE(cluster.end(RequestId{id}));
    ASSERT_EQ(cluster.epoch().moves.size(), 1U) << "from engine 2, which has the most room";
    ASSERT_TRUE(cluster.end(RequestId{3}));
    const Plan& plan = cluster.epoch();
    ASSERT_EQ(plan.moves.size(), 1U) << policy;
    EXPECT_EQ(plan.moves[0].from, EngineId{3});
    EXPECT_EQ(plan.moves[0].to, EngineId{1}) << "not to the one that is being emptied";
  }
}
}  // namespace
}  // namespace aqua::packing::test
