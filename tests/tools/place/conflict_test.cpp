// SPDX-License-Identifier: Apache-2.0
// What cannot be placed is refused with the reason.
#include "tools/place/model/conflict.hpp"

#include <gtest/gtest.h>

#include "tools/place/exact/mip.hpp"
#include "tools/place/solve.hpp"

namespace aqua::place {
namespace {

std::string refusal(Problem problem) {
  const auto cluster = Cluster::make(std::move(problem));
  EXPECT_TRUE(cluster.ok());
  const auto placed = solve(*cluster, {});
  EXPECT_FALSE(placed.ok());
  if (placed.ok()) return "";
  EXPECT_EQ(placed.error().code, Code::failed_precondition);
  return placed.error().message;
}

Problem two_servers() {
  return {.servers = {{"a", 4, 80}, {"b", 4, 80}}, .models = {}};
}

TEST(Conflict, AModelLargerThanEveryServer) {
  Problem problem = two_servers();
  problem.models = {{"big", 5, 10}};
  EXPECT_EQ(refusal(problem),
            "no placement: model 'big' has 5 shards, which share a server, and the largest server, "
            "'a', has 4 GPUs");
}

TEST(Conflict, TooFewGpus) {
  Problem problem = two_servers();
  for (int m = 0; m < 9; ++m) problem.models.push_back({"m" + std::to_string(m), 1, 10});
  EXPECT_EQ(refusal(problem), "no placement: 9 shards on 8 GPUs: 1 GPUs are missing");
}

TEST(Conflict, TooFewPlacesForLargeModels) {
  Problem problem = two_servers();
  problem.models = {{"x", 3, 1}, {"y", 3, 1}, {"z", 2, 1}};
  problem.models.front().shards = 3;
  problem.models[2].shards = 3;
  problem.servers.push_back({"c", 2, 80});
  EXPECT_EQ(refusal(problem),
            "no placement: 3 models have 3 or more shards, and the servers have room for 2 of "
            "that size");
}

TEST(Conflict, AServerTooFullOfFixedModels) {
  Problem problem = two_servers();
  problem.models = {{"x", 3, 1, "", "a"}, {"y", 2, 1, "", "a"}};
  EXPECT_NE(refusal(problem).find("fixed to server 'a' have 5 shards"), std::string::npos);
}

TEST(Conflict, AGroupThatCannotBeApart) {
  Problem problem = two_servers();
  for (const char* id : {"x", "y", "z"}) problem.models.push_back({id, 1, 1, "", "", "replicas"});
  EXPECT_EQ(refusal(problem),
            "no placement: 3 models must be apart ('replicas'), there are 2 servers");
  problem.models.pop_back();
  for (Model& model : problem.models) model.fixed = "b";
  EXPECT_NE(refusal(problem).find("'x' and 'y' must be apart"), std::string::npos);
}

TEST(Conflict, WhatOnlyTheSolverSees) {
  if (mip_solvers().empty()) GTEST_SKIP() << "this build has no solver";
  Problem problem{.servers = {{"a", 5, 80}, {"b", 5, 80}}, .models = {}};
  // 3 + 3 + 2 + 2 fit, 4 + 2 + 2 + 2 do not: no server has room for three of 2, nor 4 and 2.
  problem.models = {{"p", 4, 1}, {"q", 2, 1}, {"r", 2, 1}, {"s", 2, 1}};
  EXPECT_NE(refusal(problem).find("proven by the solver"), std::string::npos);
}

TEST(Conflict, NamesThatDoNotExist) {
  Problem problem = two_servers();
  problem.models = {{"x", 1, 1, "", "nowhere"}};
  const auto cluster = Cluster::make(problem);
  ASSERT_FALSE(cluster.ok());
  EXPECT_EQ(cluster.error().code, Code::invalid_argument);
  EXPECT_EQ(cluster.error().message, "model 'x': fixed: no server 'nowhere'");
}

TEST(Conflict, AModelThatIsCalledAsAShardOfAnother) {
  const auto with = [](int shards, const char* other) {
    Problem problem = two_servers();
    problem.models = {{"a", shards, 1}, {other, 1, 1}};
    const auto cluster = Cluster::make(problem);
    return cluster.ok() ? "ok" : cluster.error().message;
  };
  EXPECT_EQ(with(2, "a/1"), "model 'a/1' is called as a shard of 'a' is");
  EXPECT_EQ(with(2, "a/2"), "ok");
  EXPECT_EQ(with(2, "a/01"), "ok");
  EXPECT_EQ(with(1, "a/0"), "ok") << "a model of one shard is named whole";
}

}  // namespace
}  // namespace aqua::place
