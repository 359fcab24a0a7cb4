// SPDX-License-Identifier: Apache-2.0
// aqua segments: its command line, and what it does and says over a real keeper.
#include "tools/cli/segments/segments_command.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "aqua/handoff/segments.hpp"
#include "aqua/runtime.hpp"
#include "tests/base/temp_dir.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/tools/keeper/keeper_disk_fixture.hpp"

namespace aqua::tool {
namespace {

using Words = std::vector<std::string_view>;

class SegmentsCommandTest : public ::testing::Test {
 protected:
  Result<std::string> run(Words words) {
    words.insert(words.end(), {"--keeper", socket_});
    auto command = parse_segments(words);
    if (!command.ok()) return std::move(command).error();
    return run_segments(*command);
  }
  std::string said(const Words& words) {
    const auto text = run(words);
    return text.ok() ? *text : text.error().message;
  }
  // Commits a segment and lets go of the keeper, as a process that has ended.
  SegmentName commit() {
    Runtime gpu =
        Runtime::open({.device = "emu:0", .coordinator = "none", .host_bytes = 2 << 20}).value();
    Segments segments =
        Segments::open(gpu, {.segment_bytes = 2 << 20, .ready = 1, .keeper = socket_}).value();
    EXPECT_TRUE(segments.commit(segments.take(1)->number, 5000, {}).ok());
    std::vector<CommittedSegment> done;
    while ((done = segments.committed()).empty()) (void)segments.wait(std::chrono::seconds(30));
    return done.front().name;
  }

  test::KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
};

TEST_F(SegmentsCommandTest, ListsWhatIsKeptAndDropsItByName) {
  EXPECT_EQ(said({}), "the keeper keeps no segments\n");
  const SegmentName name = commit();
  const auto rows = nlohmann::json::parse(said({"--json"})).at("segments");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0], nlohmann::json({{"number", name.number},
                                     {"generation", 1},
                                     {"bytes", 5000},
                                     {"capacity", 2 << 20},
                                     {"parcel", 0},
                                     {"writer", false},
                                     {"readers", 0},
                                     {"on_disk", false}}));
  EXPECT_NE(said({"list"}).find("4       2048          0       gone          0"), std::string::npos)
      << said({"list"});
  const std::string number = std::to_string(name.number);
  EXPECT_EQ(run({"drop", "--number", number, "--generation", "2"}).error().code, Code::not_found);
  EXPECT_EQ(said({"drop", "--number", number, "--generation", "1"}),
            "segment " + number + " is dropped\n");
  EXPECT_EQ(said({}), "the keeper keeps no segments\n");
}

TEST_F(SegmentsCommandTest, SaysWhoseCopiesAreKept) {
  keeper::test::Client courier(socket_);
  courier.say(segment_wire::Join{});
  const auto reserved = courier.say(segment_wire::Reserve{100});
  courier.say(segment_wire::Commit{
      .number = reserved.name.number, .bytes = 100, .copy_of = SegmentOrigin{"a.test", 1, 2, 3}});
  EXPECT_EQ(
      nlohmann::json::parse(said({"--json"})).at("segments").at(0).at("copy_of"),
      nlohmann::json({{"server", "a.test"}, {"keeper", 1}, {"number", 2}, {"generation", 3}}));
  EXPECT_NE(said({}).find("no     a.test"), std::string::npos) << said({});
}

TEST_F(SegmentsCommandTest, SaysWhatIsOnTheKeepersDisk) {
  EXPECT_EQ(nlohmann::json::parse(said({"--json"})).at("disk"), nullptr);
  const testing::TempDir dir;
  keeper_.kill();
  keeper_.start(
      {AQUA_KEEPER_PROGRAM, "--socket", socket_, "--disk", dir / "disk", "--disk-quota", "64e6"});
  (void)commit();
  nlohmann::json all;
  do all = nlohmann::json::parse(said({"--json"}));
  while (all.at("disk").at("pending").at("segments") != 0);
  EXPECT_EQ(all.at("disk").at("durable"), nlohmann::json({{"segments", 1}, {"bytes", 5000}}));
  EXPECT_EQ(all.at("disk").at("directory"), dir / "disk");
  EXPECT_EQ(all.at("disk").at("quota_bytes"), 64'000'000);
  EXPECT_TRUE(all.at("disk").at("writes").get<bool>());
  EXPECT_TRUE(all.at("segments").at(0).at("on_disk").get<bool>());
  const std::string words = said({});
  EXPECT_NE(words.find("durable 1 (4 KiB), pending 0 (0 KiB), in memory alone 0"),
            std::string::npos)
      << words;
}

TEST(SegmentsLine, WrongArgumentsAreNamed) {
  const std::pair<Words, const char*> wrong[] = {
      {{"remove"}, "no action 'remove'"},
      {{"drop", "--generation", "7"}, "needs --number"},
      {{"drop", "--number", "7"}, "needs --generation"},
      {{"drop", "--number", "x"}, "--number"},
  };
  for (const auto& [words, message] : wrong) {
    const auto command = parse_segments(words);
    ASSERT_FALSE(command.ok()) << message;
    EXPECT_EQ(command.error().code, Code::invalid_argument);
    EXPECT_NE(command.error().message.find(message), std::string::npos) << command.error().message;
  }
}

}  // namespace
}  // namespace aqua::tool
