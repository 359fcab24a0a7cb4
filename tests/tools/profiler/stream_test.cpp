// SPDX-License-Identifier: Apache-2.0
// What an engine is asked for, and what the events of its streams say.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/profiler/load/completion.hpp"

namespace aqua::profiler {
namespace {

TEST(Completion, AsksForExactlySoManyTokens) {
  const auto body =
      nlohmann::json::parse(completion_body("m", {.prompt_tokens = 50, .output_tokens = 7}, 3));
  EXPECT_EQ(body.at("prompt").size(), 50u);
  EXPECT_EQ(body.at("max_tokens"), 7);
  EXPECT_EQ(body.at("stream_options").at("include_usage"), true);
  const auto other =
      nlohmann::json::parse(completion_body("m", {.prompt_tokens = 50, .output_tokens = 7}, 4));
  EXPECT_NE(body.at("prompt"), other.at("prompt")) << "no two share a prefix";
}

TEST(Completion, EventsTellTokensUsageAndTheEnd) {
  EXPECT_TRUE(parse_event("[DONE]").value().done);
  EXPECT_TRUE(parse_event(R"({"choices":[{"text":"a","finish_reason":"length"}]})").value().done);
  EXPECT_FALSE(parse_event(R"({"choices":[{"text":"a","finish_reason":null}]})").value().done);
  EXPECT_TRUE(parse_event(R"({"choices":[{"text":"a","finish_reason":"length"}]})").value().token);
  EXPECT_TRUE(parse_event(R"({"choices":[{"text":"","finish_reason":null}]})").value().token);
  EXPECT_FALSE(parse_event(R"({"choices":[{"text":"","finish_reason":"stop"}]})").value().token);
  const auto last =
      parse_event(R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}})").value();
  EXPECT_FALSE(last.token);
  EXPECT_EQ(last.usage.value().completion_tokens, 4u);
}

TEST(Completion, EventsThatAreErrorsSayWhy) {
  const auto failed = parse_event(R"({"error":{"message":"out of memory"}})");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::data_loss);
  EXPECT_NE(failed.error().message.find("out of memory"), std::string::npos);
  for (const char* text : {"", "{", "[]", "5", "\"x\""})
    EXPECT_EQ(parse_event(text).error().code, Code::data_loss);
}

}  // namespace
}  // namespace aqua::profiler
