// SPDX-License-Identifier: Apache-2.0
// Command lines of the examples: what is wrong is named, and nothing is guessed.
#include "option_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "neighbour_role.hpp"

namespace aqua::example {
namespace {

using testing::HasSubstr;

struct Options {
  bool help = false;
  bool checks = true;
  unsigned steps = 3;
  double times = 1;
  std::filesystem::path json{};
  NeighbourRole role{};
};

Options parse(std::vector<const char*> arguments) {
  OptionTable<Options> table;
  table.number("--steps", &Options::steps, 1U, 10U)
      .number("--times", &Options::times, 0.5, 4.0)
      .path("--json", &Options::json)
      .flag("--help", &Options::help)
      .flag("--no-checks", &Options::checks, false);
  add_role_options(table, &Options::role);
  return table.parse(arguments);
}

std::string complaint(const std::vector<const char*>& arguments) {
  try {
    (void)parse(arguments);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "none";
}

TEST(OptionTable, TakesValuesInBothForms) {
  const Options options =
      parse({"--steps", "7", "--times=2.5", "--json=", "--help", "--json", "a=b", "--no-checks"});
  EXPECT_EQ(options.steps, 7U);
  EXPECT_EQ(options.times, 2.5);
  EXPECT_EQ(options.json, "a=b");
  EXPECT_TRUE(options.help);
  EXPECT_FALSE(options.checks);
}

TEST(OptionTable, WithoutArgumentsAllIsAsDeclared) {
  const Options options = parse({});
  EXPECT_EQ(options.steps, 3U);
  EXPECT_TRUE(options.checks);
  EXPECT_EQ(options.role.kind, NeighbourRole::Kind::none);
}

TEST(OptionTable, NamesWhatIsWrong) {
  EXPECT_EQ(complaint({"--stesp", "7"}), "unknown option --stesp; see --help");
  EXPECT_EQ(complaint({"7"}), "unknown option 7; see --help");
  EXPECT_EQ(complaint({"--help=yes"}), "unknown option --help; see --help");
  EXPECT_EQ(complaint({"--steps"}), "--steps needs a value");
  for (const char* value : {"0", "11", "", "x", "3x", "-1", " 3", "3.5"}) {
    EXPECT_THAT(complaint({"--steps", value}), HasSubstr("expected a number from 1 to 10"));
  }
  for (const char* value : {"nan", "inf", "4.01"}) {
    EXPECT_THAT(complaint({"--times", value}), HasSubstr("expected a number from 0.5"));
  }
}

TEST(OptionTable, ReadsANeighboursRole) {
  const Options options = parse({"--role=lender", "--lend-bytes=4096", "--parent=1"});
  EXPECT_EQ(options.role.kind, NeighbourRole::Kind::lender);
  EXPECT_EQ(options.role.lend_bytes, 4096U);
  EXPECT_EQ(complaint({"--role=king"}), "--role king: expected coordinator or lender");
}

}  // namespace
}  // namespace aqua::example
