// SPDX-License-Identifier: Apache-2.0
// Command lines: what is wrong is named, and nothing is guessed.
#include "tools/options/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

namespace aqua {
namespace {

using ::testing::HasSubstr;

enum class Role : std::uint8_t { none, lender, coordinator };

struct Options {
  bool brief = false;
  bool checks = true;
  unsigned steps = 3;
  unsigned rounds = 0;
  std::uint64_t seed = 1;
  double times = 1;
  std::optional<double> rate{};
  std::chrono::seconds patience{60};
  std::filesystem::path json{};
  std::vector<std::string> post{};
  std::string slab{};
  Role role = Role::none;
};

CommandLine line_of(Options& o) {
  CommandLine line("play", "Usage: play [options]");
  line.number("--steps", o.steps, 1, 10, "N", "of a dance")
      .number("--seed", o.seed, 0, UINT64_MAX, "N", "of it")
      .number("--patience", o.patience, 1, 90, "S", "with it")
      .text("--json", o.json, "FILE", "write it")
      .positional("SLAB", o.slab, "which");
  line.group("Rare things")
      .number("--rounds", o.rounds, 1, 10, "N", "of it; default: as many as there are")
      .number("--times", o.times, 0.5, 4.0, "X", "as long")
      .number("--rate", o.rate, 1, 4, "R", "of it")
      .list("--post", o.post, "ADDRESS", "to it")
      .flag("--brief", o.brief, "say little")
      .flag("--no-checks", o.checks, "trust", false)
      .choice("--role", o.role, {{"lender", Role::lender}, {"coordinator", Role::coordinator}},
              "ROLE", "who it is");
  line.group("").number("--parent", o.rounds, 1, 10, "PID", "nobody is told");
  return line;
}

Options parse(const std::vector<std::string_view>& arguments) {
  Options options;
  const auto parsed = line_of(options).parse(arguments);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return options;
}

std::string complaint(const std::vector<std::string_view>& arguments) {
  Options options;
  const auto parsed = line_of(options).parse(arguments);
  if (parsed.ok()) return "none";
  EXPECT_EQ(parsed.error().code, Code::invalid_argument);
  return parsed.error().message;
}

TEST(CommandLine, TakesValuesInBothForms) {
  const Options options = parse({"--steps", "7", "--times=2.5", "--json=", "--json", "a=b",
                                 "--no-checks", "--seed=18446744073709551615", "--rate", "2",
                                 "--patience", "5", "--role=lender", "--brief"});
  EXPECT_EQ(options.steps, 7U);
  EXPECT_EQ(options.times, 2.5);
  EXPECT_EQ(options.json, "a=b");
  EXPECT_TRUE(options.brief);
  EXPECT_FALSE(options.checks);
  EXPECT_EQ(options.seed, UINT64_MAX);
  EXPECT_EQ(options.rate, 2);
  EXPECT_EQ(options.patience, std::chrono::seconds(5));
  EXPECT_EQ(options.role, Role::lender);
}

TEST(CommandLine, OfOneGivenTwiceTheLastCountsButAListHasAll) {
  const Options options = parse({"--steps=1", "--post", "a", "--steps=2", "--post=b"});
  EXPECT_EQ(options.steps, 2U);
  EXPECT_EQ(options.post, (std::vector<std::string>{"a", "b"}));
}

TEST(CommandLine, AValueThatLooksLikeAnOptionIsAValue) {
  const Options options = parse({"--json=--brief"});
  EXPECT_EQ(options.json, "--brief");
  EXPECT_FALSE(options.brief);
  EXPECT_THAT(complaint({"--brief=maybe"}), HasSubstr("brief"));
}

TEST(CommandLine, AnEmptyValueIsAValue) {
  EXPECT_EQ(parse({"--json=x", "--json="}).json, "");
  EXPECT_EQ(parse({"--json=x", "--json", ""}).json, "");
  EXPECT_THAT(complaint({"--post", ""}), HasSubstr("--post"));
}

TEST(CommandLine, WithoutArgumentsAllIsAsDeclared) {
  const Options options = parse({});
  EXPECT_EQ(options.steps, 3U);
  EXPECT_TRUE(options.checks);
  EXPECT_EQ(options.role, Role::none);
  EXPECT_EQ(options.slab, "");
}

TEST(CommandLine, TakesAValueWithoutAName) {
  EXPECT_EQ(parse({"--brief", "producer/7", "--steps=2"}).slab, "producer/7");
  EXPECT_EQ(parse({"--steps", "2", "producer/7"}).slab, "producer/7");
  EXPECT_THAT(complaint({"a/1", "b/2"}), HasSubstr("unknown argument 'b/2'"));
}

TEST(CommandLine, WholeNumbersMayBeWrittenAsFloatsAre) {
  EXPECT_EQ(parse({"--seed", "2e7"}).seed, 20'000'000U);
  EXPECT_THAT(complaint({"--seed", "1e30"}), HasSubstr("expected a whole number"));
}

TEST(CommandLine, NamesWhatIsWrong) {
  EXPECT_EQ(complaint({"--stesp", "7"}), "play: unknown argument '--stesp'; see --help");
  EXPECT_EQ(complaint({"--stesp=7"}), "play: unknown argument '--stesp'; see --help");
  EXPECT_EQ(complaint({"--steps"}), "play: --steps needs a value");
  for (const char* value : {"0", "11", "", "x", "3x", "-1", " 3", "3.5", "0x3"}) {
    EXPECT_EQ(complaint({"--steps", value}),
              concat("play: --steps '", value, "': expected a whole number from 1 to 10"));
  }
  for (const char* value : {"nan", "inf", "4.01", "-2"}) {
    EXPECT_THAT(complaint({"--times", value}), HasSubstr("expected a number from 0.5 to 4"));
  }
  EXPECT_EQ(complaint({"--role=king"}), "play: --role 'king': expected one of lender, coordinator");
}

TEST(CommandLine, HelpHasGroupsValuesAndDefaultsThatCanBeGiven) {
  Options options;
  const std::string help = line_of(options).help();
  EXPECT_THAT(help, ::testing::StartsWith("Usage: play [options]\n"));
  EXPECT_THAT(help, ::testing::ContainsRegex("Rare things:\n"));
  EXPECT_THAT(help, ::testing::ContainsRegex("--steps N +of a dance \\(3\\)\n"));
  EXPECT_THAT(help, ::testing::ContainsRegex("--rounds N +of it; default: as many as there are\n"));
  EXPECT_THAT(help, ::testing::ContainsRegex("--role ROLE +who it is\n"));
  EXPECT_THAT(help, ::testing::Not(HasSubstr("--parent")));
}

TEST(CommandLine, HelpFitsATerminalOf80Columns) {
  CommandLine line("play", "Usage: play [options]");
  std::string text, words;
  for (int i = 0; i < 40; ++i) words += "to say much ";
  line.text("--an-option-with-a-long-name", text, "VALUE", words).text("--short", text, "V", words);
  const std::string help = line.help();
  std::size_t widest = 0;
  for (std::size_t from = 0, end = 0; end < help.size(); from = end + 1) {
    end = std::min(help.find('\n', from), help.size());
    widest = std::max(widest, end - from);
  }
  EXPECT_LE(widest, 79U) << help;
  EXPECT_GT(widest, 70U) << help;
}

TEST(CommandLine, HelpIsAskedForAnywhere) {
  using Arguments = std::vector<std::string_view>;
  EXPECT_TRUE(asks_for_help(Arguments{"--json", "x", "--help"}));
  EXPECT_TRUE(asks_for_help(Arguments{"-h"}));
  EXPECT_FALSE(asks_for_help(Arguments{"--steps", "3"}));
}

}  // namespace
}  // namespace aqua
