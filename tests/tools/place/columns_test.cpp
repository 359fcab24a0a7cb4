// SPDX-License-Identifier: Apache-2.0
// Column generation's bound against trying all placements, and annealing's placements; then both
// where neither trying nor writing all patterns down is possible.
#include "tools/place/exact/columns.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>

#include "place_models.hpp"
#include "tests/tools/place/instances.hpp"
#include "tools/place/exact/bound.hpp"
#include "tools/place/search/heuristic.hpp"
#include "tools/place/solve.hpp"

namespace aqua::place {
namespace {

constexpr double kPatience = 600;
const test::Kind kKinds[] = {{},
                             {.mixed_servers = true, .fixed = true},
                             {.apart = true},
                             {.domains = true, .mixed_servers = true, .apart = true}};
constexpr int kRounds = 60;  // of each

TEST(Columns, NoPlacementIsBelowTheirBound) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const auto solver = open_mip_solver("auto").value();
  std::mt19937_64 random(5);
  int placed = 0, closer = 0, tight = 0;
  for (const test::Kind& kind : kKinds) {
    for (int round = 0; round < kRounds; ++round) {
      const Cluster cluster = Cluster::make(test::random_problem(random, kind)).value();
      const auto truth = test::best_of_all(cluster);
      const auto found = construct(cluster);
      if (!truth || !found) continue;
      const Bytes simple = simple_bound(cluster);
      const Bytes bound = column_bound(cluster, *solver, simple, *found, Deadline(kPatience));
      ASSERT_LE(bound, truth->objective) << round;
      ASSERT_GE(bound, simple) << round;
      ++placed;
      closer += bound > simple ? 1 : 0;
      tight += static_cast<double>(bound) >= 0.99 * static_cast<double>(truth->objective) ? 1 : 0;
    }
  }
  std::cout << "[ MEASURED ] of " << placed << " bounds " << closer << " are above that of sums, "
            << tight << " within a hundredth of the truth" << std::endl;
  EXPECT_GT(placed, 150);
  EXPECT_GT(closer, placed / 2);
  EXPECT_GT(tight, placed / 2);
}

// Levels far below what a unit could hold: tables of a bounded size.
TEST(Columns, NearlyBalancedClustersTakeNoMoreMemory) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const auto solver = open_mip_solver("auto").value();
  Problem problem;
  for (int s = 0; s < 2; ++s)
    problem.servers.push_back({"s" + std::to_string(s), 8, 80 * test::kGB});
  for (int m = 0; m < 16; ++m) {
    const Bytes bytes = 60 * test::kGB + m / 2;
    problem.models.push_back({"m" + std::to_string(m), 1, m % 2 == 0 ? bytes : -bytes - 1});
  }
  const Cluster cluster = Cluster::make(problem).value();
  Assignment found;
  for (int m = 0; m < 16; ++m) found.push_back(m / 2 % 2);  // a producer and its consumer together
  const Bytes objective = score_of(cluster, found).objective;
  ASSERT_EQ(objective, 4);
  const Bytes bound = column_bound(cluster, *solver, 0, found, Deadline(kPatience));
  EXPECT_LE(bound, objective);
}

// Large models are weighed first: what they lie above the level, or below its negative, small ones
// still take back.
TEST(Columns, AUnitMayBeBeyondTheLevelUntilItIsFull) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const auto solver = open_mip_solver("auto").value();
  for (const int sign : {1, -1}) {
    Problem problem;
    problem.servers = {{"a", 4, 80 * test::kGB}, {"b", 4, 80 * test::kGB}};
    for (const Bytes each : {30, 28}) {
      const std::string id = std::to_string(each);
      problem.models.push_back({"large" + id, 2, sign * each * test::kGB});
      for (const char* name : {"p", "q"})
        problem.models.push_back({name + id, 1, -sign * each * test::kGB});
    }
    const Cluster cluster = Cluster::make(problem).value();
    const Assignment crossed = {0, 1, 1, 1, 0, 0};
    ASSERT_EQ(score_of(cluster, crossed).objective, 4 * test::kGB);
    EXPECT_EQ(column_bound(cluster, *solver, 0, crossed, Deadline(kPatience)), 0) << sign;
  }
}

TEST(Annealing, KeepsToTheRulesAndOnlyGetsBetter) {
  std::mt19937_64 random(6);
  int placed = 0, better = 0, best = 0;
  for (const test::Kind& kind : kKinds) {
    for (int round = 0; round < kRounds; ++round) {
      const Cluster cluster = Cluster::make(test::random_problem(random, kind)).value();
      const auto start = construct(cluster);
      if (!start) continue;
      const auto truth = test::best_of_all(cluster);
      const Assignment result = anneal(cluster, *start, 0, 20'000, Deadline(kPatience));
      ASSERT_TRUE(allowed(cluster, result)) << round;
      const Bytes before = score_of(cluster, *start).objective;
      const Bytes after = score_of(cluster, result).objective;
      ASSERT_LE(after, before) << round;
      ++placed;
      better += after < before ? 1 : 0;
      best += after == truth->objective ? 1 : 0;
    }
  }
  std::cout << "[ MEASURED ] of " << placed << " placements " << better << " became better, "
            << best << " are the best" << std::endl;
  EXPECT_GT(better, placed / 10);
  EXPECT_GT(best, placed * 8 / 10);
}

// Too many patterns to be written down, and no two models equal. Nearly balanced ones are the
// hardest: no sign alone holds the objective up.
TEST(Columns, PaperMixesWithModelsOfTheirOwnAreWithinAHundredth) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  for (const bench::Mix mix : {bench::Mix::own, bench::Mix::balanced}) {
    const Cluster cluster = Cluster::make(bench::paper_mix(128, mix, 2)).value();
    const std::clock_t begin = std::clock();
    const auto placement = solve(cluster, {.time_limit_s = kPatience});
    ASSERT_TRUE(placement.ok()) << placement.error().message;
    EXPECT_TRUE(allowed(cluster, placement->assignment));
    EXPECT_LE(placement->gap(), 0.01) << placement->method;
    EXPECT_FALSE(placement->time_limit_hit);
    std::printf("[ MEASURED ] %s: gap %.2f %% in %.1f s of processor time\n",
                mix == bench::Mix::own ? "own" : "balanced", placement->gap() * 100,
                static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
}

// Whoever shuffles servers that are all alike in M and N knows the optimum: it is the sums' bound.
TEST(Planted, TheOptimumIsTheMeanOfAllServers) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  for (const bench::Mix mix : {bench::Mix::planted, bench::Mix::even}) {
    const Bytes optimum = bench::planted_optimum(mix);
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const Cluster cluster = Cluster::make(bench::paper_mix(24, mix, seed)).value();
      EXPECT_EQ(cluster.total_shards(), 24);
      EXPECT_EQ(simple_bound(cluster), optimum);
      const auto placement = solve(cluster, {.time_limit_s = kPatience});
      ASSERT_TRUE(placement.ok()) << placement.error().message;
      EXPECT_EQ(placement->score.objective, optimum) << seed;
      EXPECT_TRUE(placement->optimal());
    }
  }
}

// Where a climb ends a whole N off, annealing aimed at the servers above its target does not.
TEST(Planted, LargeClustersWithModelsOfTheirOwnAreWithinAHundredth) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  for (const bench::Mix mix : {bench::Mix::planted, bench::Mix::even, bench::Mix::own}) {
    const Cluster cluster = Cluster::make(bench::paper_mix(1000, mix, 2)).value();
    const std::clock_t begin = std::clock();
    const auto placement = solve(cluster, {.time_limit_s = kPatience});
    ASSERT_TRUE(placement.ok()) << placement.error().message;
    EXPECT_TRUE(allowed(cluster, placement->assignment));
    EXPECT_LE(placement->gap(), 0.01) << placement->method;
    if (mix != bench::Mix::own) {
      EXPECT_LE(placement->bound, bench::planted_optimum(mix));
      EXPECT_GE(placement->score.objective, bench::planted_optimum(mix));
    }
    std::printf("[ MEASURED ] gap %.2f %% in %.1f s of processor time\n", placement->gap() * 100,
                static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
}

// With as few buckets as a small cluster's, the bound alone would be two hundredths too low.
TEST(Planted, TenThousandGpusWithModelsOfTheirOwnAreWithinAHundredth) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  const Cluster cluster = Cluster::make(bench::paper_mix(10'000, bench::Mix::own, 1)).value();
  const auto placement = solve(cluster, {.time_limit_s = kPatience});
  ASSERT_TRUE(placement.ok()) << placement.error().message;
  EXPECT_TRUE(allowed(cluster, placement->assignment));
  EXPECT_LE(placement->gap(), 0.01) << placement->method;
}

}  // namespace
}  // namespace aqua::place
