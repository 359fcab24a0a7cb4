// SPDX-License-Identifier: Apache-2.0
// aqua top: its command line, and what it shows of what the router and the coordinator say.
#include "tools/cli/top/top_command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace aqua::tool {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string_view>;

TopSources some() {
  return {.engines = R"({"engines":[
          {"name":"a","state":"up","requests":2,"held_tokens":300,"usable_tokens":8000,"fault":""},
          {"name":"b","state":"down","requests":0,"held_tokens":0,"usable_tokens":0,
           "fault":"no answer\u001b[31m"}]})",
          .requests = R"({"requests":[{"name":"cmpl-1","engine":"a","moves_to":"","tokens":100},
                                  {"name":"cmpl-2","engine":"a","moves_to":"b","tokens":200}]})",
          .metrics =
              "aqua_router_moves_total{kind=\"kv\",outcome=\"done\"} 7\n"
              "aqua_router_moves_total{kind=\"kv\",outcome=\"failed\"} 2\n"
              "aqua_router_moves_total{kind=\"kv\",outcome=\"ended\"} 5\n"
              "aqua_router_move_failures_total{kind=\"kv\",reason=\"no_room\"} 2\n"
              "aqua_router_move_failures_total{kind=\"kv\",reason=\"died\"} 0\n"
              "aqua_router_move_failures_total{kind=\"tokens\",reason=\"\u001b[31m\"} 1\n"
              "aqua_router_moves_total{kind=\"tokens\",outcome=\"done\"} 1\n"
              "aqua_router_move_seconds_count{kind=\"kv\"} 7\n"
              "aqua_router_move_seconds_sum{kind=\"kv\"} 0.14\n",
          .memory = R"({"loans":[{"producer":"quiet","consumer":"busy","bytes":67108864}]})"};
}

TEST(Top, ShowsEnginesRequestsMovesAndLentMemory) {
  const auto text = render_top(some(), 20);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("engines (2)"));
  EXPECT_THAT(*text,
              HasSubstr("a                                up          2        300       8000"));
  EXPECT_THAT(*text, HasSubstr("no answer?[31m")) << "nothing that a terminal obeys";
  EXPECT_THAT(*text,
              HasSubstr("by kv                             7          2       20.0          -"));
  EXPECT_THAT(*text, HasSubstr("\n    no_room: 2\n"));
  EXPECT_THAT(*text, Not(HasSubstr("died")));
  EXPECT_THAT(*text, HasSubstr("\n    ?[31m: 1\n"));
  EXPECT_THAT(*text, HasSubstr("quiet                          busy         64"));
  EXPECT_LT(text->find("cmpl-2"), text->find("cmpl-1")) << "the largest first";
}

TEST(Top, CountsOfMovesAreWholeNumbersHoweverLarge) {
  TopSources sources = some();
  sources.metrics = "aqua_router_moves_total{kind=\"kv\",outcome=\"done\"} 1234567\n";
  EXPECT_THAT(render_top(sources, 20).value(), HasSubstr("by kv                       1234567"));
}

TEST(Top, ShowsNoMoreRequestsThanFitAndSaysSo) {
  const auto text = render_top(some(), 1);
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("and 1 more"));
  EXPECT_THAT(*text, Not(HasSubstr("cmpl-1")));
}

TEST(Top, WithoutACoordinatorNothingIsSaidOfMemory) {
  TopSources sources = some();
  sources.memory.clear();
  EXPECT_THAT(render_top(sources, 20).value(), Not(HasSubstr("lent memory")));
  EXPECT_TRUE(nlohmann::json::parse(render_top_json(sources).value()).at("memory").is_null());
}

TEST(Top, ScriptsGetAnObjectALine) {
  const std::string text = render_top_json(some()).value();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto all = nlohmann::json::parse(text);
  EXPECT_EQ(all.at("engines").size(), 2U);
  EXPECT_EQ(all.at("requests")[1].at("moves_to"), "b");
  EXPECT_EQ(all.at("moves")[0].at("kind"), "kv");
  EXPECT_EQ(all.at("moves")[0].at("done"), 7);
  EXPECT_EQ(all.at("moves")[0].at("ended"), 5);
  EXPECT_EQ(all.at("moves")[0].at("failures"), nlohmann::json({{"no_room", 2}}));
  EXPECT_DOUBLE_EQ(all.at("moves")[0].at("seconds").get<double>(), 0.02);
  EXPECT_TRUE(all.at("moves")[1].at("seconds").is_null());
  EXPECT_EQ(all.at("memory").at("loans").size(), 1U);
}

TEST(Top, WhatIsNoAnswerOfARoutersIsDataLoss) {
  for (const char* text : {"", "5", "{}", R"({"engines":5})", R"({"engines":[7]})"}) {
    TopSources sources = some();
    sources.engines = text;
    EXPECT_EQ(render_top(sources, 20).error().code, Code::data_loss) << text;
    EXPECT_EQ(render_top_json(sources).error().code, Code::data_loss) << text;
  }
  TopSources sources = some();
  sources.memory = "[]";
  EXPECT_EQ(render_top(sources, 20).error().code, Code::data_loss);
}

TEST(Top, TheCommandLineNamesARouter) {
  const auto command = parse_top(
      Words{"--router", "http://127.0.0.1:9", "--once", "--json", "--coordinator", "none"});
  ASSERT_TRUE(command.ok());
  EXPECT_TRUE(command->once && command->json);
  EXPECT_EQ(command->coordinator, "");
  EXPECT_EQ(parse_top(Words{"--router", "nonsense"}).error().code, Code::invalid_argument);
  EXPECT_EQ(parse_top(Words{"--interval", "1"}).error().code, Code::invalid_argument);
  EXPECT_EQ(run_top(*command).error().code, Code::unavailable) << "nobody listens there";
}

}  // namespace
}  // namespace aqua::tool
