// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/cli/profile/profile_options.hpp"

namespace aqua::tool {
namespace {

Result<ProfileOptions> parse(std::vector<std::string_view> arguments) {
  arguments.insert(arguments.begin(), {"--url", "http://a", "--out", "f", "--trace", "t"});
  return parse_profile_options(arguments);
}

TEST(ProfileOptions, AreThePapersByDefault) {
  const auto options = parse({});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_DOUBLE_EQ(options->range.from, 1);
  EXPECT_DOUBLE_EQ(options->range.to, 10);
  EXPECT_DOUBLE_EQ(options->range.step, 0.5);
  EXPECT_DOUBLE_EQ(options->sla.ttft_s, 1);
  EXPECT_DOUBLE_EQ(options->sla.tbt_s, 0.1);
  EXPECT_EQ(options->chunk, 512u);
  EXPECT_DOUBLE_EQ(options->threshold_gb, 10);
}

TEST(ProfileOptions, AreAllSettable) {
  const auto options =
      parse({"--from", "2", "--sla", "0.5,0.2", "--bursts", "2,4", "--memory", "llama",
             "--bytes-per-token", "131072", "--timeout", "5", "--kind", "llm", "--resume"});
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_DOUBLE_EQ(options->sla.tbt_s, 0.2);
  EXPECT_EQ(options->bursts, (std::vector<double>{2, 4}));
  EXPECT_EQ(options->memory.source, profiler::MemorySource::llama);
  EXPECT_TRUE(options->resume);
  EXPECT_TRUE(parse({"--bursts", "off"}).value().bursts.empty());
}

TEST(ProfileOptions, ThatAreWrongAreNamed) {
  const std::vector<std::vector<std::string_view>> wrong{{"--from", "x"},
                                                         {"--from", "20"},
                                                         {"--step", "0"},
                                                         {"--sla", "1"},
                                                         {"--bursts", "0"},
                                                         {"--memory", "x"},
                                                         {"--requests", "1"},
                                                         {"--kind", "video"},
                                                         {"--surprise", "1"},
                                                         {"stray"},
                                                         {"--seed"},
                                                         {"--url", "https://a"},
                                                         {"--long-prompt", "5"},
                                                         {"--requests", "50001"}};
  for (const auto& arguments : wrong) {
    const auto options = parse(arguments);
    ASSERT_FALSE(options.ok()) << arguments.front();
    EXPECT_EQ(options.error().code, Code::invalid_argument);
  }
  EXPECT_EQ(parse_profile_options({}).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace aqua::tool
