// SPDX-License-Identifier: Apache-2.0
// Placements as a whole: deterministic, within bounds, calm about what runs already.
#include "tools/place/solve.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "place_models.hpp"
#include "tests/tools/place/instances.hpp"
#include "tools/place/exact/bound.hpp"
#include "tools/place/exact/buckets.hpp"
#include "tools/place/exact/mip.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

using test::kGB;

Cluster made(Problem problem) {
  auto cluster = Cluster::make(std::move(problem));
  EXPECT_TRUE(cluster.ok()) << cluster.error().message;
  return std::move(cluster).value();
}

Problem pairs_of_servers(int servers) {
  Problem problem;
  for (int s = 0; s < servers; ++s) {
    problem.servers.push_back({"s" + std::to_string(s), 2, 80 * kGB});
    problem.models.push_back({"p" + std::to_string(s), 1, 30 * kGB});
    problem.models.push_back({"c" + std::to_string(s), 1, -30 * kGB});
  }
  return problem;
}

TEST(Solve, PutsEachConsumerBesideAProducer) {
  for (const char* solver : {"auto", "heuristic"}) {
    const Cluster cluster = made(pairs_of_servers(6));
    const auto placed = solve(cluster, {.solver = solver});
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->score.objective, 0);
    EXPECT_TRUE(placed->optimal());
    EXPECT_EQ(placed->score.served, 180 * kGB);
    EXPECT_EQ(placed->pairs.size(), 6U);
    EXPECT_EQ(placed->gap(), 0);
  }
}

TEST(Solve, TwiceTheSame) {
  std::mt19937_64 random(8);
  Problem uneven = pairs_of_servers(12);  // never evened out: the search goes on by chance
  for (Model& model : uneven.models) model.bytes += static_cast<Bytes>(random() % kGB);
  int placed = 0;
  for (int round = 0; round < 10; ++round) {
    const Cluster cluster =
        made(round == 0 ? uneven : test::random_problem(random, {.running = true}));
    const SolveOptions options{.solver = round == 0 ? "heuristic" : "auto"};
    const auto first = solve(cluster, options);
    const auto second = solve(cluster, options);
    ASSERT_EQ(first.ok(), second.ok());
    if (!first.ok()) continue;
    ++placed;
    EXPECT_EQ(first->assignment, second->assignment);
  }
  EXPECT_GE(placed, 5);
}

// What a step could not do in its part of the time changes the result, though time is left at the
// end: whoever reads it is told.
TEST(Solve, WhateverATimeLimitChangesIsTold) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const Cluster cluster = made(bench::paper_mix(64, bench::Mix::own, 1));
  std::optional<Placement> whole;  // that no limit has changed
  int cut = 0;
  for (const double limit_s : {0.05, 0.2, 0.5, 1.0, 600.0}) {
    const auto placed = solve(cluster, {.time_limit_s = limit_s});
    if (!placed.ok() || placed->time_limit_hit) {
      ++cut;
      continue;
    }
    if (!whole) whole = *placed;
    EXPECT_EQ(placed->bound, whole->bound) << limit_s;
    EXPECT_EQ(placed->assignment, whole->assignment) << limit_s;
  }
  EXPECT_GT(cut, 0);
  EXPECT_TRUE(whole.has_value());
}

// Through every step, annealing and column generation as well: twice with too little time, where
// chance may cut a step, and twice with enough.
TEST(Solve, TheSameTwiceOrTheTimeLimitIsTold) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const Cluster cluster = made(bench::paper_mix(128, bench::Mix::balanced, 5));
  std::optional<Placement> whole;
  int told = 0, same = 0;
  for (const double limit_s : {0.25, 0.25, 600.0, 600.0}) {
    const auto placed = solve(cluster, {.time_limit_s = limit_s});
    if (!placed.ok() || placed->time_limit_hit) {
      ++told;
      continue;
    }
    if (whole) {
      ++same;
      EXPECT_EQ(placed->assignment, whole->assignment) << limit_s;
      EXPECT_EQ(placed->bound, whole->bound) << limit_s;
      EXPECT_EQ(placed->method, whole->method) << limit_s;
    }
    whole = *placed;
  }
  EXPECT_GE(same, 1);
  EXPECT_EQ(told + same, 3);
}

TEST(Deadline, RemembersThatAPartOfItEndedASearch) {
  const Deadline deadline(600);
  const Deadline part = deadline.part(0);
  EXPECT_FALSE(deadline.hit());
  EXPECT_TRUE(part.over());
  EXPECT_FALSE(deadline.over());
  EXPECT_TRUE(deadline.hit());
}

TEST(Solve, TheHeuristicNeverGoesBelowTheBoundAndKeepsTheRules) {
  std::mt19937_64 random(9);
  int placed = 0;
  for (int round = 0; round < 100; ++round) {
    const Cluster cluster =
        made(test::random_problem(random, {.mixed_servers = true, .fixed = true, .apart = true}));
    const auto truth = test::best_of_all(cluster);
    const auto found = solve(cluster, {.solver = "heuristic"});
    if (!found.ok()) continue;
    ++placed;
    EXPECT_TRUE(allowed(cluster, found->assignment));
    EXPECT_GE(found->score.objective, truth->objective);
    EXPECT_LE(found->bound, truth->objective);
  }
  EXPECT_GT(placed, 40);
}

// c1 runs beside its producer, c0 does not: one swap mends both, in any server's name.
TEST(Solve, MovesNoMoreThanItMust) {
  Problem problem = pairs_of_servers(4);
  for (std::size_t m = 0; m < problem.models.size(); ++m) {
    problem.models[m].current = "s" + std::to_string((m / 2 + 2) % 4);
  }
  std::swap(problem.models[0].current, problem.models[3].current);  // p0 with c1
  for (const char* solver : {"auto", "heuristic"}) {
    const auto placed = solve(made(problem), {.solver = solver});
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->score.objective, 0) << solver;
    EXPECT_EQ(placed->score.moves, 2) << solver;
  }
}

TEST(Solve, StaysWhereMovingDoesNotPay) {
  Problem problem = pairs_of_servers(2);
  problem.models[0].bytes = 31 * kGB;  // swapping c0 and c1 could gain 1 GB at most
  problem.models[3].bytes = -31 * kGB;
  for (std::size_t m = 0; m < 4; ++m) problem.models[m].current = "s" + std::to_string(m / 2);
  const auto eager = solve(made(problem), {});
  ASSERT_TRUE(eager.ok());
  EXPECT_EQ(eager->score.objective, 0);
  EXPECT_EQ(eager->score.moves, 2);
  problem.move_cost_bytes = kGB;
  const auto calm = solve(made(problem), {});
  ASSERT_TRUE(calm.ok());
  EXPECT_EQ(calm->score.moves, 0);
  EXPECT_EQ(calm->score.objective, kGB);
}

// Server c, whose models are fixed, decides the objective. Exchanging the consumers of a and b lets
// more be served, and lowers nothing.
TEST(Solve, SaysNotServedBestOfAPlacementThatServesLessToSpareMoves) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  Problem problem;
  problem.servers = {{"a", 2, 80 * kGB}, {"b", 2, 80 * kGB}, {"c", 2, 80 * kGB}};
  problem.models = {{"pa", 1, 20 * kGB, "a"},      {"ca", 1, -10 * kGB, "a"},
                    {"pb", 1, 10 * kGB, "b"},      {"cb", 1, -20 * kGB, "b"},
                    {"pc", 1, 40 * kGB, "c", "c"}, {"cc", 1, -10 * kGB, "c", "c"}};
  const auto eager = solve(made(problem), {});
  ASSERT_TRUE(eager.ok());
  EXPECT_EQ(eager->score.objective, 30 * kGB);
  EXPECT_EQ(eager->score.served, 40 * kGB);
  EXPECT_TRUE(eager->served_best);
  problem.move_cost_bytes = 1;
  const auto calm = solve(made(problem), {});
  ASSERT_TRUE(calm.ok());
  EXPECT_EQ(calm->score.objective, 30 * kGB);
  EXPECT_EQ(calm->score.moves, 0);
  EXPECT_EQ(calm->score.served, 30 * kGB);
  EXPECT_FALSE(calm->served_best);
}

TEST(Solve, ARackIsOneDomain) {
  Problem problem;
  for (int s = 0; s < 36; ++s) {
    problem.servers.push_back({"s" + std::to_string(s), 4, 80 * kGB, s < 18 ? "rack0" : "rack1"});
  }
  for (int m = 0; m < 36; ++m) {
    problem.models.push_back({"c" + std::to_string(m), 2, -20 * kGB});
    problem.models.push_back({"p" + std::to_string(m), 1, 20 * kGB});
    problem.models.push_back({"q" + std::to_string(m), 1, 20 * kGB});
  }
  const Cluster cluster = made(problem);
  EXPECT_EQ(cluster.units().size(), 2U);
  const auto placed = solve(cluster, {});
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(allowed(cluster, placed->assignment));
  EXPECT_EQ(placed->score.objective, 0);
  EXPECT_EQ(placed->pairs.size(), 72U);
}

TEST(Solve, AnUnknownSolverIsNamed) {
  const auto placed = solve(made(pairs_of_servers(1)), {.solver = "gurobi"});
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.error().code, Code::unimplemented);
  EXPECT_NE(placed.error().message.find("'gurobi'"), std::string::npos);
}

TEST(Bound, CountsShardsThatHaveToFit) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  // Full servers of 2: one holds the model of 2 consumers, so another holds 2 producers.
  Problem problem;
  problem.servers = {{"a", 2, 80 * kGB}, {"b", 2, 80 * kGB}};
  problem.models = {{"c", 2, -kGB}, {"p", 1, kGB}, {"q", 1, kGB}};
  const Cluster cluster = made(problem);
  EXPECT_EQ(simple_bound(cluster), 0);
  const auto solver = open_mip_solver("auto");
  ASSERT_TRUE(solver.ok());
  const CountBound counted = count_bound(cluster, **solver, Deadline(10));
  EXPECT_EQ(counted.bound, 160 * kGB);
  ASSERT_TRUE(counted.start.has_value());
  EXPECT_TRUE(allowed(cluster, *counted.start));
}

TEST(Bound, BucketsNeverPromiseMoreThanThereIs) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const auto solver = open_mip_solver("auto");
  ASSERT_TRUE(solver.ok());
  std::mt19937_64 random(10);
  int raised = 0;
  for (int round = 0; round < 60; ++round) {
    const Cluster cluster = made(test::random_problem(random, {.mixed_servers = true}));
    const auto truth = test::best_of_all(cluster);
    if (!truth) continue;
    const auto found = construct(cluster);
    if (!found) continue;
    const CountBound bound = bucket_bound(cluster, **solver, 0, *found, Deadline(10));
    EXPECT_LE(bound.bound, truth->objective) << round;
    raised += bound.bound > 0 ? 1 : 0;
    if (bound.start) {
      EXPECT_TRUE(allowed(cluster, *bound.start));
    }
  }
  EXPECT_GT(raised, 20);
}

}  // namespace
}  // namespace aqua::place
