// SPDX-License-Identifier: Apache-2.0
// What an engine sends: events, completions, lists of models, URLs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/profiler/load/completion.hpp"
#include "tools/profiler/load/http_client.hpp"
#include "tools/profiler/load/sse.hpp"

namespace aqua::profiler {
namespace {

std::vector<std::string> events_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> events;
  SseReader reader;
  for (const std::string& piece : pieces) {
    const auto fed = reader.feed(piece, [&](std::string_view data) { events.emplace_back(data); });
    EXPECT_TRUE(fed.ok());
  }
  return events;
}

TEST(Sse, IsTheSameHoweverItIsCut) {
  const std::string text = ": busy\n\ndata: one\n\nid: 5\ndata:two\r\ndata: lines\r\n\r\ndata: cut";
  const std::vector<std::string> expected{"one", "two\nlines"};
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(events_of({text.substr(0, cut), text.substr(cut)}), expected) << cut;
}

TEST(Sse, RefusesAnEventWithoutEnd) {
  SseReader reader;
  const std::string half(SseReader::kMaxEvent / 2 + 1, 'x');
  const auto ignore = [](std::string_view) { FAIL(); };
  EXPECT_TRUE(reader.feed("data: " + half, ignore).ok());
  const auto fed = reader.feed(half, ignore);
  ASSERT_FALSE(fed.ok());
  EXPECT_EQ(fed.error().code, Code::resource_exhausted);
}

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

TEST(Models, AreTheFirstAndItsLongestSequence) {
  const auto info = parse_models(R"({"data":[{"id":"a","max_model_len":4096},{"id":"b"}]})");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->id, "a");
  EXPECT_EQ(info->max_tokens, 4096u);
  for (const char* text : {"", "{}", R"({"data":[]})", R"({"data":[{"id":1}]})"})
    EXPECT_EQ(parse_models(text).error().code, Code::data_loss) << text;
}

TEST(Url, IsTakenApart) {
  const auto place = parse_url("http://[::1]:8000/engine/v1/");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->host, "::1");
  EXPECT_EQ(place->port, 8000);
  EXPECT_EQ(place->prefix, "/engine");
  EXPECT_EQ(parse_url("http://gpu7").value().port, 80);
}

TEST(Url, ThatIsNoneIsRefused) {
  for (const char* url :
       {"", "gpu7:80", "http://", "http://a:0", "http://a:99999", "http://a b", "https://a"})
    EXPECT_EQ(parse_url(url).error().code, Code::invalid_argument) << url;
  EXPECT_NE(parse_url("https://a").error().message.find("over http"), std::string::npos);
}

}  // namespace
}  // namespace aqua::profiler
