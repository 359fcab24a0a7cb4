// SPDX-License-Identifier: Apache-2.0
// Every way to place against trying all placements, on 500 random clusters.
#include <gtest/gtest.h>

#include "tests/tools/place/instances.hpp"
#include "tools/place/exact/mip.hpp"
#include "tools/place/model/conflict.hpp"
#include "tools/place/solve.hpp"

namespace aqua::place {
namespace {

struct Tally {
  int placed = 0;
  int impossible = 0;
  int proven = 0;
};

Tally compare(int rounds, const test::Kind& kind, const std::string& solver) {
  std::mt19937_64 random(20);
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    const auto cluster = Cluster::make(test::random_problem(random, kind));
    EXPECT_TRUE(cluster.ok()) << cluster.error().message;
    const auto truth = test::best_of_all(*cluster);
    const auto found = solve(*cluster, {.time_limit_s = 60, .solver = solver});
    EXPECT_EQ(found.ok(), truth.has_value())
        << round << (found.ok() ? "" : ": " + found.error().message);
    if (!truth || !found.ok()) {
      tally.impossible += truth ? 0 : 1;
      if (!found.ok()) {
        EXPECT_EQ(found.error().code, Code::failed_precondition);
      }
      continue;
    }
    ++tally.placed;
    EXPECT_TRUE(allowed(*cluster, found->assignment)) << round;
    EXPECT_EQ(found->score.objective, truth->objective) << round << ' ' << found->method;
    EXPECT_LE(found->bound, truth->objective) << round;
    if (!found->optimal()) continue;
    ++tally.proven;
    if (found->served_best) {
      EXPECT_EQ(found->score.served, truth->served) << round;
      if (kind.running) {
        EXPECT_EQ(found->score.moves, truth->moves) << round;
      }
    }
  }
  return tally;
}

class Exhaustive : public ::testing::Test {
  void SetUp() override {
    if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  }
};

TEST_F(Exhaustive, FiveHundredSmallClustersAreOptimalAndProven) {
  const Tally tally = compare(500, {}, "auto");
  EXPECT_EQ(tally.proven, tally.placed);
  EXPECT_GT(tally.placed, 400);
}

TEST_F(Exhaustive, UnequalServersWithFixedModels) {
  const Tally tally = compare(150, {.mixed_servers = true, .fixed = true}, "auto");
  EXPECT_EQ(tally.proven, tally.placed);
  EXPECT_GT(tally.placed, 75);
  EXPECT_GT(tally.impossible, 0);
}

TEST_F(Exhaustive, GroupsThatMustBeApart) {
  const Tally tally = compare(150, {.apart = true}, "auto");
  EXPECT_EQ(tally.proven, tally.placed);
  EXPECT_GT(tally.placed, 50);
  EXPECT_GT(tally.impossible, 0);
}

TEST_F(Exhaustive, DomainsOfSeveralServers) {
  const Tally tally = compare(150, {.domains = true, .mixed_servers = true, .apart = true}, "auto");
  EXPECT_EQ(tally.proven, tally.placed);
  EXPECT_GT(tally.placed, 50);
}

TEST_F(Exhaustive, OfEqualPlacementsTheOneWithFewestMoves) {
  const Tally tally = compare(100, {.running = true}, "auto");
  EXPECT_EQ(tally.proven, tally.placed);
  EXPECT_GT(tally.placed, 75);
}

TEST_F(Exhaustive, TheNaiveFormulationAgrees) {
  const Tally tally = compare(60, {.fixed = true, .apart = true}, "naive");
  EXPECT_GT(tally.placed, 20);
}

}  // namespace
}  // namespace aqua::place
