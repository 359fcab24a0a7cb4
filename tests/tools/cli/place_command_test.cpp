// SPDX-License-Identifier: Apache-2.0
// aqua place: its command line, the files it writes, and what it does without a coordinator.
#include "tools/cli/place/place_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/base/temp_dir.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "tools/cli/place/place_post.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kInput = R"({"servers": [{"id": "s", "gpus": 2, "hbm_bytes": 80}],
  "models": [{"id": "p", "shards": 1, "bytes": 30}, {"id": "c", "shards": 1, "bytes": -20}]})";

class Place : public ::testing::Test {
 protected:
  Place() { std::ofstream(dir_ / "in.json") << kInput; }
  PlaceCommand command() {
    PlaceCommand command;
    command.input = dir_ / "in.json";
    command.out = dir_ / "out.json";
    command.svg = dir_ / "out.svg";
    return command;
  }
  testing::TempDir dir_;
};

TEST_F(Place, WritesThePlacementAndItsPicture) {
  const auto text = run_place(command());
  ASSERT_TRUE(text.ok()) << text.error().message;
  std::ifstream file(dir_ / "out.json");
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["objective"], 10);
  EXPECT_EQ(json["assignment"]["p"], "s");
  EXPECT_EQ(json["pairs"][0]["consumer"], "c");
  EXPECT_GT(std::filesystem::file_size(command().svg), 100U);
}

TEST_F(Place, ADryRunWritesNothing) {
  auto dry = command();
  dry.dry_run = true;
  dry.post = {"unix:/nowhere/at/all.sock"};
  ASSERT_TRUE(run_place(dry).ok());
  EXPECT_FALSE(std::filesystem::exists(dry.out));
  EXPECT_FALSE(std::filesystem::exists(dry.svg));
}

TEST_F(Place, WithoutACoordinatorThePlacementIsKept) {
  auto posting = command();
  posting.post = {"unix:" + std::string(dir_ / "absent.sock")};
  const auto text = run_place(posting);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::unavailable);
  EXPECT_TRUE(std::filesystem::exists(posting.out));
}

TEST_F(Place, WhatIsNoPlacementIsNotPosted) {
  for (const char* text : {"", "{}", R"({"version": 2, "pairs": []})", R"({"version": 1})",
                           R"({"version": 1, "pairs": [{"producer": "p"}]})",
                           R"({"version": 1, "pairs": [{"producer": "p", "consumer": "p"}]})"}) {
    std::ofstream(dir_ / "placed.json") << text;
    PlaceCommand posting;
    posting.placed = dir_ / "placed.json";
    posting.post = {"unix:" + std::string(dir_ / "absent.sock")};
    const auto said = run_place(posting);
    ASSERT_FALSE(said.ok()) << text;
    EXPECT_EQ(said.error().code, Code::invalid_argument) << text;
  }
}

TEST(PlacePost, GoesToAllServersThatACoordinatorKnows) {
  wire::Servers all{.self = "gpu2", .shared = true};
  all.servers = {{.name = "gpu1", .coordinator = "https://h1:7071"}, {.name = "gpu2"}};
  EXPECT_EQ(coordinators_of(all, "unix:/here").value(),
            (std::vector<std::string>{"https://h1:7071", "unix:/here"}));
  all.fault = "no leader";
  EXPECT_EQ(coordinators_of(all, "unix:/here").error().code, Code::failed_precondition);
  all.fault.clear();
  all.servers.push_back({.name = "gpu3"});
  const auto unknown = coordinators_of(all, "unix:/here");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, Code::failed_precondition);
  EXPECT_NE(unknown.error().message.find("gpu3"), std::string::npos);
}

TEST_F(Place, IsPostedToTheServersOfACoordinatorThatIsAlone) {
  const testing::DaemonProcess daemon;
  ASSERT_TRUE(run_place(command()).ok());
  PlaceCommand posting;
  posting.placed = dir_ / "out.json";
  posting.post_all = daemon.address();
  const auto said = run_place(posting);
  ASSERT_TRUE(said.ok()) << said.error().message;
  EXPECT_EQ(said->find(daemon.address() + ": 0 pairs made"), 0U) << *said;
  posting.post_all = "unix:" + std::string(dir_ / "absent.sock");
  EXPECT_EQ(run_place(posting).error().code, Code::unavailable);
}

TEST(PlaceArguments, AreReadOrRefused) {
  const std::vector<std::string_view> good{
      "--input", "a", "--time-limit", "2.5", "--post", "unix:x", "--post", "unix:y", "--explain"};
  const auto command = parse_place(good);
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->solve.time_limit_s, 2.5);
  EXPECT_EQ(command->post.size(), 2U);
  EXPECT_TRUE(command->explain);
  const std::vector<std::string_view> to_all{"--placed", "a", "--post-all", "unix:x"};
  EXPECT_EQ(parse_place(to_all)->post_all, "unix:x");
  for (const std::vector<std::string_view>& bad : std::vector<std::vector<std::string_view>>{
           {},
           {"--input"},
           {"--input", "a", "--what"},
           {"--input", "a", "--time-limit", "0"},
           {"--placed", "a"},
           {"--placed", "a", "--post", "unix:x", "--input", "b"}}) {
    const auto refused = parse_place(bad);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::invalid_argument);
  }
}

}  // namespace
}  // namespace aqua::tool
