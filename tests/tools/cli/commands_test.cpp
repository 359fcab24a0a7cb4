// SPDX-License-Identifier: Apache-2.0
// The aqua command before a real coordinator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"

namespace aqua::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

struct Commands : ::testing::Test {
  ChildProcess aqua(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), AQUA_PROGRAM);
    arguments.insert(arguments.end(), {"--coordinator", daemon.address()});
    return ChildProcess(arguments, dir / "stderr");
  }
  DaemonProcess daemon;
  TempDir dir;
};

TEST_F(Commands, WatchGivesAnObjectALineAndEndsCleanlyOnCtrlC) {
  const Peer producer(daemon.address(), "lender", true);
  ChildProcess watch = aqua({"status", "--watch", "--json", "--interval", "10"});
  EXPECT_EQ(json::parse(watch.read_line()).at("clients").at(0).at("lent_bytes"), 0);
  ASSERT_TRUE(producer.client->offer(some_slabs(2)).ok());
  const std::uint64_t expected = 2 * kSlabBytes;
  json seen;
  do {
    const std::string line = watch.read_line();
    ASSERT_FALSE(line.empty()) << "it ended";
    seen = json::parse(line);
  } while (seen.at("clients").at(0).at("lent_bytes") != expected);
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), 0);
}

TEST_F(Commands, WatchGoesOnWhenTheCoordinatorComesBack) {
  ChildProcess watch = aqua({"status", "--watch", "--json", "--interval", "10"});
  const std::string before = json::parse(watch.read_line()).at("epoch");
  daemon.kill();
  daemon.start();
  std::string epoch = before;
  while (epoch == before) {
    const std::string line = watch.read_line();
    ASSERT_FALSE(line.empty()) << "it ended";
    epoch = json::parse(line).at("epoch");
  }
  watch.signal(SIGTERM);
  EXPECT_EQ(watch.wait(), 0);
}

TEST_F(Commands, PlacePostsThePairsOfAPlacement) {
  const Peer big(daemon.address(), "big", true), small(daemon.address(), "small", true);
  const Peer consumer(daemon.address(), "model/1", false);
  std::ofstream(dir / "placed.json") << R"({"version": 1, "assignment": {}, "pairs": [
    {"producer": "small", "consumer": "model/1", "bytes": 1},
    {"producer": "big", "consumer": "model/0", "bytes": 2},
    {"producer": "elsewhere", "consumer": "elsewhere too", "bytes": 1}]})";
  ChildProcess place(
      {AQUA_PROGRAM, "place", "--placed", dir / "placed.json", "--post", daemon.address()},
      dir / "stderr");
  EXPECT_THAT(place.read_line(), HasSubstr("1 pairs made"));
  EXPECT_EQ(place.read_line(), "  not there: 'model/0', to be paired with 'big'");
  EXPECT_EQ(place.wait(), 0);
  const auto state = admin::fetch_state(daemon.address());
  ASSERT_TRUE(state.ok()) << state.error().message;
  ASSERT_EQ(state->pairs.size(), 1u);
  EXPECT_EQ(state->pairs[0], (wire::Pair{small.id, consumer.id}));
}

TEST_F(Commands, PlaceTellsWhatItPostedBeforeACoordinatorThatIsNotThere) {
  const Peer producer(daemon.address(), "big", true), consumer(daemon.address(), "model/0", false);
  std::ofstream(dir / "placed.json") << R"({"version": 1, "assignment": {}, "pairs": [
    {"producer": "big", "consumer": "model/0", "bytes": 2}]})";
  ChildProcess place({AQUA_PROGRAM, "place", "--placed", dir / "placed.json", "--post",
                      daemon.address(), "--post", "unix:" + (dir / "absent.sock")},
                     dir / "stderr");
  EXPECT_THAT(place.read_line(), HasSubstr("1 pairs made"));
  EXPECT_EQ(place.wait(), 1);
}

TEST_F(Commands, SlabTellsItsStory) {
  const Peer producer(daemon.address(), "lender", true);
  const Peer consumer(daemon.address(), "borrower", false);
  ASSERT_TRUE(producer.client->offer(some_slabs(1)).ok());
  ASSERT_TRUE(consumer.client->lease(kSlabBytes, kSlabBytes).ok());
  ChildProcess slab = aqua({"slab", "lender/0"});
  EXPECT_THAT(slab.read_line(), HasSubstr(to_string(producer.id) + "/0, 2097152 bytes"));
  EXPECT_THAT(slab.read_line(), HasSubstr("offered"));
  EXPECT_THAT(slab.read_line(), HasSubstr("leased by borrower (process"));
  EXPECT_EQ(slab.wait(), 0);
  ChildProcess as_json = aqua({"slab", "lender/0", "--json"});
  EXPECT_EQ(json::parse(as_json.read_line()).at("events").size(), 2U);
  EXPECT_EQ(aqua({"slab", "lender/9"}).wait(), 1);
  EXPECT_EQ(aqua({"slab"}).wait(), 2);
  EXPECT_EQ(aqua({"status", "--interval", "x"}).wait(), 2);
}

TEST_F(Commands, DrainByNameIsSeenInTheStatus) {
  const Peer producer(daemon.address(), "lender", true);
  const auto state_told = [&] {
    ChildProcess status = aqua({"status", "--json"});
    std::string all, line;
    while (!(line = status.read_line()).empty()) all += line;
    return json::parse(all).at("clients").at(0).at("state").get<std::string>();
  };
  EXPECT_EQ(state_told(), "live");
  EXPECT_THAT(aqua({"drain", "lender"}).read_line(), HasSubstr("lender is being drained"));
  EXPECT_EQ(state_told(), "drained");  // it lends nothing
  EXPECT_EQ(aqua({"drain", "lender", "--end"}).wait(), 0);
  EXPECT_EQ(state_told(), "live");
  EXPECT_EQ(aqua({"drain", "nobody"}).wait(), 1);
  EXPECT_EQ(aqua({"drain"}).wait(), 2);
}

TEST_F(Commands, ReclaimByNameTakesFreeSlabsHome) {
  const Peer producer(daemon.address(), "lender", true);
  ASSERT_TRUE(producer.client->offer(some_slabs(2)).ok());
  EXPECT_EQ(aqua({"reclaim", "lender", "--mib", "2"}).wait(), 0);
  const auto state = admin::fetch_state(daemon.address());
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(state->slabs.size(), 1U);
  EXPECT_EQ(aqua({"reclaim", "lender"}).wait(), 2) << "how much?";
}

TEST_F(Commands, PairByNamesAndEndOfIt) {
  const Peer producer(daemon.address(), "lender", true);
  const Peer consumer(daemon.address(), "borrower", false);
  EXPECT_EQ(aqua({"pair", "lender", "borrower"}).wait(), 0);
  const auto paired = admin::fetch_state(daemon.address());
  ASSERT_TRUE(paired.ok()) << paired.error().message;
  EXPECT_THAT(paired->pairs, ::testing::ElementsAre(wire::Pair{producer.id, consumer.id}));
  EXPECT_NE(aqua({"pair", "borrower", "borrower", "--end"}).wait(), 0) << "of another pair";
  EXPECT_EQ(admin::fetch_state(daemon.address())->pairs.size(), 1U);
  const json told =
      json::parse(aqua({"pair", "lender", "borrower", "--end", "--json"}).read_line());
  EXPECT_EQ(told.at("borrower"), to_string(consumer.id));
  const auto ended = admin::fetch_state(daemon.address());
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_TRUE(ended->pairs.empty());
  EXPECT_EQ(aqua({"pair", "lender"}).wait(), 2);
}

// All of a program's stdout, which it must end well.
std::string stdout_of(const std::vector<std::string>& command) {
  TempDir dir;
  std::vector<std::string> shell{"/bin/sh", "-c", "\"$0\" \"$@\" >" + (dir / "stdout")};
  shell.insert(shell.end(), command.begin(), command.end());
  EXPECT_EQ(ChildProcess(shell, dir / "stderr").wait(), 0) << command[1];
  std::ostringstream all;
  all << std::ifstream(dir / "stdout").rdbuf();
  return all.str();
}

const std::vector<std::string> kCommands{"status",    "slab",     "drain", "reclaim", "pair",
                                         "calibrate", "simulate", "plan",  "profile", "place"};

// The options that `aqua COMMAND --help` lists.
std::set<std::string> options_of(const std::string& command) {
  std::set<std::string> names;
  std::istringstream help(stdout_of({AQUA_PROGRAM, command, "--help"}));
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("  --")) names.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  return names;
}

TEST(Manual, HoldsEveryOptionOfEveryCommand) {
  std::string page = stdout_of({AQUA_PROGRAM, "manual"});
  for (std::size_t at = 0; (at = page.find("\\-", at)) != std::string::npos;) page.erase(at, 1);
  for (const std::string& command : kCommands) {
    const std::size_t begin = page.find(".SS aqua " + command + "\n");
    ASSERT_NE(begin, std::string::npos) << command;
    const std::string section = page.substr(begin, page.find("\n.S", begin + 1) - begin);
    const std::set<std::string> options = options_of(command);
    EXPECT_FALSE(options.empty()) << command;
    for (const std::string& option : options)
      EXPECT_THAT(section, HasSubstr(".TP\n\\fB" + option + "\\fR")) << command;
  }
}

TEST(Completion, OffersCommandsAndTheOptionsOfEach) {
  TempDir dir;
  std::ofstream(dir / "completion") << stdout_of({AQUA_PROGRAM, "completion", "bash"});
  const auto offered = [&](const std::string& words, int at) {
    std::set<std::string> names;
    std::istringstream lines(stdout_of({"bash", "-c",
                                        "source " + (dir / "completion") + "; COMP_WORDS=(aqua " +
                                            words + "); COMP_CWORD=" + std::to_string(at) +
                                            R"(; _aqua; printf '%s\n' "${COMPREPLY[@]}")"}));
    for (std::string line; std::getline(lines, line);) names.insert(line);
    return names;
  };
  for (const std::string& command : kCommands) {
    EXPECT_THAT(offered("''", 1), ::testing::Contains(command));
    std::set<std::string> expected = options_of(command);
    expected.insert("--help");
    EXPECT_EQ(offered(command + " --", 2), expected) << command;
  }
  EXPECT_EQ(offered("s", 1),
            (std::set<std::string>{"segments", "servers", "simulate", "slab", "status"}));
}

TEST(Json, IsAllThatACommandPrints) {
  const std::string place = stdout_of({AQUA_PROGRAM, "place", "--input",
                                       AQUA_SOURCE_DIR "/examples/placement/paper_mix.json",
                                       "--solver", "heuristic", "--json"});
  EXPECT_TRUE(json::parse(place, nullptr, false).is_object()) << place.substr(0, 200);
  TempDir dir;
  std::ofstream(dir / "trace.csv") << "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                      "2023-11-16 18:15:10.0,400,20\n";
  const std::string simulated =
      stdout_of({AQUA_PROGRAM, "simulate", "--trace", dir / "trace.csv", "--json"});
  EXPECT_TRUE(json::parse(simulated, nullptr, false).is_object()) << simulated.substr(0, 200);
}

TEST(CommandLine, EveryCommandTellsItsUse) {
  TempDir dir;
  for (const std::string& verb : kCommands) {
    ChildProcess asked({AQUA_PROGRAM, verb, "--json", "--help"}, dir / "stderr");
    EXPECT_THAT(asked.read_line(), HasSubstr("Usage: aqua " + verb)) << verb;
    EXPECT_EQ(asked.wait(), 0) << verb;
  }
}

TEST(CommandLine, NoCommandAndAnUnknownOneAreToldInALine) {
  TempDir dir;
  const auto told = [&dir](const std::string& log, const std::vector<std::string>& command) {
    EXPECT_EQ(ChildProcess(command, dir / log).wait(), 2);
    std::ostringstream all;
    all << std::ifstream(dir / log).rdbuf();
    return all.str();
  };
  EXPECT_EQ(told("none", {AQUA_PROGRAM}), "aqua: no command; `aqua --help` lists the commands\n");
  EXPECT_EQ(told("unknown", {AQUA_PROGRAM, "sttaus"}),
            "aqua: unknown command 'sttaus'; `aqua --help` lists the commands\n");
}

}  // namespace
}  // namespace aqua::testing
