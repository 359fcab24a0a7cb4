// SPDX-License-Identifier: Apache-2.0
// The input file: what is read, what is refused and with which words; and what comes out.
#include "tools/place/model/input.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/place/report.hpp"

namespace aqua::place {
namespace {

constexpr const char* kSmall = R"({
  "servers": [{"id": "s0", "gpus": 2, "hbm_bytes": 80, "domain": "d0", "bandwidth_bytes": 5},
              {"id": "s1", "gpus": 2, "hbm_bytes": 80, "domain": "d1"}],
  "models": [{"id": "lends", "shards": 1, "bytes": 30, "current": "s1"},
             {"id": "borrows", "shards": 2, "bytes": -20, "fixed": "s0", "apart": "g"}],
  "move_cost_bytes": 7})";

std::string fault(const std::string& text) {
  const auto problem = parse_problem(text);
  EXPECT_FALSE(problem.ok()) << text;
  if (problem.ok()) return "";
  EXPECT_EQ(problem.error().code, Code::invalid_argument);
  return problem.error().message;
}

TEST(PlaceInput, ReadsEveryField) {
  const auto problem = parse_problem(kSmall);
  ASSERT_TRUE(problem.ok()) << problem.error().message;
  EXPECT_EQ(problem->move_cost_bytes, 7);
  ASSERT_EQ(problem->servers.size(), 2U);
  EXPECT_EQ(problem->servers[0].bandwidth_bytes, 5);
  EXPECT_EQ(problem->servers[1].domain, "d1");
  ASSERT_EQ(problem->models.size(), 2U);
  EXPECT_EQ(problem->models[0].current, "s1");
  EXPECT_EQ(problem->models[1].bytes, -20);
  EXPECT_EQ(problem->models[1].shards, 2);
  EXPECT_EQ(problem->models[1].fixed, "s0");
  EXPECT_EQ(problem->models[1].apart, "g");
}

TEST(PlaceInput, NamesTheFieldAtFault) {
  EXPECT_EQ(fault("[]"), "input: is not an object");
  EXPECT_EQ(fault("{"), "input: not JSON in UTF-8, or nested too deep");
  EXPECT_EQ(fault("{}"), "input: servers is missing");
  EXPECT_EQ(fault(R"({"server": []})"),
            "input: server is not a field known here (servers, models, move_cost_bytes)");
  EXPECT_EQ(fault(R"({"servers": [{"id": "a", "gpu": 1}], "models": []})"),
            "input: servers[0].gpu is not a field known here (id, gpus, hbm_bytes, domain, "
            "bandwidth_bytes)");
  EXPECT_EQ(fault(R"({"servers": [7], "models": []})"), "input: servers[0] is not an object");
  EXPECT_EQ(fault(R"({"servers": [], "models": [{"id": "m", "shards": 0, "bytes": 1}]})"),
            "input: models[0].shards is not an integer from 1 to 2147483647");
  EXPECT_EQ(fault(R"({"servers": [], "models": [{"id": "m", "shards": 1, "bytes": 1.5}]})"),
            "input: models[0].bytes is not an integer from -8796093022208 to 8796093022208");
  EXPECT_EQ(fault(R"({"servers": [], "models": [{"id": 5}]})"), "input: models[0].id is not text");
}

TEST(PlaceInput, ASwampOfBracketsIsRefused) {
  EXPECT_EQ(fault(std::string(1'000'000, '[')), "input: not JSON in UTF-8, or nested too deep");
}

TEST(PlaceOutput, NamesShardsInPairsAndServersInTheAssignment) {
  auto cluster = Cluster::make(parse_problem(kSmall).value());
  ASSERT_TRUE(cluster.ok());
  Placement placement{.assignment = {1, 0}, .bound = 1, .largest_hbm = 80};
  placement.assignment = {0, 0};  // as if s0 had three GPUs: the rendering does not mind
  placement.score = score_of(*cluster, placement.assignment);
  placement.pairs = match(*cluster, placement.assignment);
  const auto json = nlohmann::json::parse(render_json(*cluster, placement));
  EXPECT_EQ(json["assignment"]["lends"], "s0");
  EXPECT_EQ(json["pairs"].size(), 1U);
  EXPECT_EQ(json["pairs"][0]["producer"], "lends");
  EXPECT_EQ(json["pairs"][0]["consumer"], "borrows/0");
  EXPECT_EQ(json["pairs"][0]["bytes"], 20);
  EXPECT_EQ(json["served_bytes"], 20);
  EXPECT_EQ(json["needed_bytes"], 40);
  EXPECT_EQ(json["objective"], 10 + 80);
  EXPECT_EQ(json["moves"][0]["from"], "s1");
  const std::string said = verdict(*cluster, placement);
  EXPECT_EQ(said.find("1 of 2 shards that want memory have a lender"), 0U) << said;
  EXPECT_TRUE(render_text(*cluster, placement, false).starts_with(said));
  EXPECT_NE(render_text(*cluster, placement, true).find("lends lends borrows/0"),
            std::string::npos);
  const std::string picture = render_svg(*cluster, placement);
  for (const std::string& part :
       {std::string("borrows/1"), said, std::string("marker-end"), std::string("wants 0.0 GiB")})
    EXPECT_NE(picture.find(part), std::string::npos) << part;
}

TEST(PlaceOutput, AnArcOfThePictureTellsItsBytes) {
  const auto cluster =
      Cluster::make(parse_problem(R"({"servers": [{"id": "s", "gpus": 2, "hbm_bytes": 85899345920}],
                        "models": [{"id": "lends", "shards": 1, "bytes": 32212254720},
                                   {"id": "borrows", "shards": 1, "bytes": -21474836480}]})")
                        .value());
  ASSERT_TRUE(cluster.ok()) << cluster.error().message;
  Placement placement{.assignment = {0, 0}, .bound = 1, .largest_hbm = 80};
  placement.score = score_of(*cluster, placement.assignment);
  placement.pairs = match(*cluster, placement.assignment);
  const std::string picture = render_svg(*cluster, placement);
  const std::size_t arc = picture.find("marker-end");
  ASSERT_NE(arc, std::string::npos) << picture;
  EXPECT_NE(picture.find(">20.0 GiB</text>", arc), std::string::npos) << picture.substr(arc);
}

}  // namespace
}  // namespace aqua::place
