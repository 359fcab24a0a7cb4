// SPDX-License-Identifier: Apache-2.0
// aqua models: its command line, and what it does and says over a real keeper.
#include "tools/cli/models/models_command.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/model_bytes.hpp"

namespace aqua::tool {
namespace {

using test::KeeperProcess;
using Words = std::vector<std::string_view>;

class Models : public ::testing::Test {
 protected:
  // Parses and runs it with the keeper of this test; the text it prints.
  Result<std::string> run(Words words) {
    words.insert(words.end(), {"--keeper", socket_});
    auto command = parse_models(words);
    if (!command.ok()) return std::move(command).error();
    return run_models(*command);
  }
  std::string said(const Words& words) {
    const auto text = run(words);
    return text.ok() ? *text : text.error().message;
  }

  test::KeeperProcess keeper_;
  const std::string socket_ = keeper_.socket();
};

TEST_F(Models, AreLoadedListedVerifiedAndRetired) {
  const aqua::testing::TempDir directory;
  const std::string file = directory / "weights";
  std::ofstream(file, std::ios::binary) << sharing::safetensors_bytes(
      R"({"w": {"dtype": "F16", "shape": [512, 1024], "data_offsets": [0, 1048576]}})", 1 << 20);
  EXPECT_EQ(said({}), "the keeper has no models\n");
  const Words load{"load", "--file", file, "--model", "m", "--version", "1", "--device", "emu:0"};
  EXPECT_EQ(said(load), "m 1: 1 tensors, 1 MiB\n");
  EXPECT_EQ(said(load), "m 1 is there already\n") << "a command that is tried again";
  Words in_json = load;
  in_json.emplace_back("--json");
  EXPECT_EQ(nlohmann::json::parse(said(in_json))["there_already"], true);
  EXPECT_EQ(said({"verify", "--model", "m", "--device", "emu:0"}),
            "m 1: 1 tensors are what was published; write protection: enforced\n");
  EXPECT_EQ(said({"copy", "--model", "m", "--from", "emu:0", "--device", "emu:1"}),
            "m 1: 1 tensors, 1 MiB\n");
  EXPECT_EQ(said({"verify", "--model", "m", "--device", "emu:1"}),
            "m 1: 1 tensors are what was published; write protection: enforced\n");
  EXPECT_EQ(said({"copy", "--model", "m", "--from", "emu:1", "--device", "emu:2", "--device",
                  "emu:3", "--device", "emu:4"}),
            "m 1: 1 tensors, 1 MiB\n");
  EXPECT_EQ(said({"verify", "--model", "m", "--device", "emu:4"}),
            "m 1: 1 tensors are what was published; write protection: enforced\n");
  const std::string half =
      said({"copy", "--model", "m", "--from", "emu:1", "--device", "emu:0", "--device", "emu:5"});
  EXPECT_NE(half.find("emu:0: publish: m 1 shard 0 is published"), std::string::npos) << half;
  EXPECT_NE(half.find("; there: emu:5"), std::string::npos) << half;
  EXPECT_NE(said({"list"}).find("m                        1                there "),
            std::string::npos)
      << said({"list"});
  const auto listed = nlohmann::json::parse(said({"--json"}));
  EXPECT_EQ(listed["models"][0]["bytes"], 12 << 20);
  EXPECT_EQ(listed["models"][0]["copies"], 6);
  EXPECT_EQ(listed["models"][0]["shows"], true);
  EXPECT_EQ(listed["freeing_bytes"], 0);
  const auto retired =
      nlohmann::json::parse(said({"retire", "--model", "m", "--version", "1", "--json"}));
  EXPECT_EQ(retired["retired"], "1");
  EXPECT_EQ(run({"verify", "--model", "m", "--device", "emu:0"}).error().code, Code::not_found);
  EXPECT_EQ(nlohmann::json::parse(said({"list", "--json"}))["models"].size(), 0U);
}

TEST_F(Models, AreReadOnceForSeveralDevices) {
  const aqua::testing::TempDir directory;
  const std::string file = directory / "weights";
  std::ofstream(file, std::ios::binary) << sharing::safetensors_bytes(
      R"({"w": {"dtype": "F16", "shape": [8], "data_offsets": [0, 16]}})", 16);
  EXPECT_EQ(said({"load", "--file", file, "--model", "m", "--version", "1", "--device", "emu:0",
                  "--device", "emu:1", "--device", "emu:2"}),
            "m 1: 1 tensors, 0 MiB\n");
  const std::string half = said({"load", "--file", file, "--model", "n", "--version", "1",
                                 "--device", "emu:0", "--device", "emu:0"});
  EXPECT_NE(half.find("own device"), std::string::npos) << half;
  EXPECT_NE(half.find("; there: emu:0"), std::string::npos) << half;
  for (const char* device : {"emu:0", "emu:1", "emu:2"}) {
    EXPECT_TRUE(run({"verify", "--model", "m", "--device", device}).ok()) << device;
  }
}

TEST_F(Models, AreTrimmedListedInHostMemoryBroughtBackAndDropped) {
  const aqua::testing::TempDir directory;
  const std::string file = directory / "weights";
  std::ofstream(file, std::ios::binary) << sharing::safetensors_bytes(
      R"({"w": {"dtype": "F16", "shape": [8], "data_offsets": [0, 16]}})", 16);
  ASSERT_TRUE(
      run({"load", "--file", file, "--model", "m", "--version", "1", "--device", "emu:0"}).ok());
  EXPECT_EQ(said({"trim", "--device", "emu:0", "--mib", "2"}), "m 1: 2 MiB to host memory\n");
  const auto listed = nlohmann::json::parse(said({"list", "--copies", "--json"}));
  ASSERT_EQ(listed["copies"].size(), 1U);
  EXPECT_EQ(listed["copies"][0]["device"], "host");
  EXPECT_NE(said({"list", "--copies"}).find(" host\n"), std::string::npos);
  EXPECT_EQ(said({"copy", "--model", "m", "--from", "host", "--device", "emu:0"}),
            "m 1: 1 tensors, 0 MiB\n");
  EXPECT_TRUE(run({"verify", "--model", "m", "--device", "emu:0"}).ok());
  EXPECT_EQ(said({"drop", "--model", "m", "--version", "1", "--device", "host"}),
            "m 1 has gone from there\n");
  EXPECT_NE(
      said({"drop", "--model", "m", "--version", "1", "--device", "emu:0"}).find("lack shards"),
      std::string::npos);
  EXPECT_EQ(said({"trim", "--device", "emu:0", "--mib", "3"}),
            "m 1: 2 MiB to host memory\n2 of 3 MiB were given back: nothing else there may go\n");
  const auto nothing =
      nlohmann::json::parse(said({"trim", "--device", "emu:0", "--mib", "1", "--json"}));
  EXPECT_EQ(nothing["moved"].size(), 0U);
  EXPECT_EQ(nothing["bytes"], 0);
}

TEST_F(Models, WithoutAKeeperTheSocketIsNamed) {
  keeper_.stop();
  const auto text = run({});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::unavailable);
  EXPECT_NE(text.error().message.find(socket_), std::string::npos);
}

TEST(ModelsLine, WrongArgumentsAreNamed) {
  const std::pair<Words, const char*> wrong[] = {
      {{"steal"}, "no action 'steal'"},
      {{"load", "--model", "m", "--version", "1"}, "needs --file"},
      {{"load", "--file", "f", "--version", "1"}, "needs --model"},
      {{"load", "--file", "f", "--model", "m"}, "needs --version"},
      {{"retire", "--model", "m"}, "needs --version"},
      {{"verify"}, "needs --model"},
      {{"copy", "--model", "m", "--device", "emu:1"}, "needs --from"},
      {{"verify", "--model", "m", "--device", "emu:0", "--device", "emu:1"},
       "more than one --device"},
      {{"trim", "--device", "emu:0"}, "needs --mib"},
      {{"trim", "--device", "emu:0", "--mib", "1", "--model", "m"}, "neither --model"},
      {{"drop", "--model", "m", "--device", "emu:0"}, "needs --version"},
      {{"verify", "--model", "m", "--shard", "2", "--shards", "2"}, "--shard is not below"},
      {{"load", "--file", "f", "--model", "m", "--version", "1", "--split", "q"}, "PATTERN=AXIS"},
      {{"load", "--file", "f", "--model", "m", "--version", "1", "--split", "q=9"}, "PATTERN=AXIS"},
      {{"load", "--file", "f", "--model", "m", "--version", "1", "--split", "=0"}, "PATTERN=AXIS"},
      {{"load", "--file", "f", "--model", "m", "--version", "1", "--slab-mib", "3"}, "not even"},
      {{"--shards", "0"}, "--shards '0'"}};
  for (const auto& [words, why] : wrong) {
    const auto command = parse_models(words);
    ASSERT_FALSE(command.ok()) << why;
    EXPECT_EQ(command.error().code, Code::invalid_argument);
    EXPECT_NE(command.error().message.find(why), std::string::npos) << command.error().message;
  }
}

TEST(ModelsLine, RulesAreTakenInTheirOrder) {
  const Words words{"load",  "--file",  "f",     "--model",  "m", "--version", "1", "--split",
                    "*.q=0", "--split", "a=b=1", "--shards", "2", "--shard",   "1"};
  const auto command = parse_models(words);
  ASSERT_TRUE(command.ok()) << command.error().message;
  ASSERT_EQ(command->load.rules.size(), 2U);
  EXPECT_EQ(command->load.rules[0].pattern, "*.q");
  EXPECT_EQ(command->load.rules[1].pattern, "a=b");
  EXPECT_EQ(command->load.rules[1].axis, 1U);
}

}  // namespace
}  // namespace aqua::tool
