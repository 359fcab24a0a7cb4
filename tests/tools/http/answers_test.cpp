// SPDX-License-Identifier: Apache-2.0
// What engines answer, whoever asks: events, metrics, lists of models; and where they are.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "aqua/northbound/metrics_text.hpp"
#include "tools/http/engine_answer.hpp"
#include "tools/http/http_client.hpp"
#include "tools/http/metrics_text.hpp"
#include "tools/http/sse.hpp"

namespace aqua::http {
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

TEST(Metrics, AreFoundByTheirWholeName) {
  EXPECT_EQ(find_metric("ab 1\na 2\na{x=\"}\"} 3\na{x= 4\na five\n", "a").size(), 2u);
  EXPECT_EQ(metric_sum("a 2\na{x=\"1\"} 3\n", "a"), 5);
  EXPECT_EQ(metric_sum("a NaN\n", "a"), std::nullopt);
  EXPECT_EQ(metric_sum("", "a"), std::nullopt);
}

TEST(Metrics, KeepLabelsOfAnyLineOfText) {
  const std::string label = R"(a "b" \ c\n{}=,)";
  MetricsText written;
  written.type("a", "gauge");
  written.sample("x", label, 7);
  const std::string text = std::move(written).text();
  EXPECT_EQ(text,
            "# TYPE a gauge\n"
            R"(a{x="a \"b\" \\ c\\n{}=,"} 7)"
            "\n");
  const auto read = find_metric(text, "a");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].labels.at("x"), label);
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
}  // namespace aqua::http
