// SPDX-License-Identifier: Apache-2.0
// What engines of the fleet are asked and ordered: what makes no sense is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "speech/asked.hpp"
#include "speech/orders.hpp"

namespace aqua::fleet {
namespace {

using ::testing::HasSubstr;

TEST(FleetAsked, AnAttemptHasAName) {
  const auto asked = parse_asked(
      R"({"prompt":[5,17,9],"max_tokens":20,"seed":4,"stream":true,
          "aqua":{"request":"r","turn":3,"answered":2,"receive":true}})");
  ASSERT_TRUE(asked.ok());
  EXPECT_EQ(asked->prompt, (std::vector<Token>{5, 17, 9}));
  EXPECT_EQ(asked->name, (AttemptName{"r", 3}));
  EXPECT_EQ(asked->answered, 2U);
  EXPECT_EQ(asked->max_tokens, 20U);
  EXPECT_EQ(asked->sampler.seed, 4U);
  EXPECT_TRUE(asked->receive);
  EXPECT_EQ(parse_asked(R"({"prompt":"ab"})")->text, "ab");
  EXPECT_EQ(parse_asked(R"({"prompt":"ab","temperature":0.5,"top_p":1})")->sampler.temperature,
            0.5F);
  EXPECT_TRUE(parse_asked(R"({"prompt":[1],"top_k":-1,"min_p":0.0,"logit_bias":{}})").ok());
  EXPECT_EQ(parse_asked(R"({"prompt":[1],"max_tokens":null,"min_tokens":99})")->max_tokens, 0U)
      << "to the end";
  EXPECT_EQ(parse_asked(R"({"prompt":[1],"max_tokens":30,"ignore_eos":true})")->min_tokens, 30U);
}

TEST(FleetAsked, WhatIsToBecomeTokensIsATextOrAChat) {
  EXPECT_EQ(parse_tokenize(R"({"prompt":"ab"})")->prompt, "ab");
  const auto chat = parse_tokenize(
      R"({"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":""}]})");
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(chat->chat, (std::vector<ChatMessage>{{"user", "a"}, {"assistant", ""}}));
  for (const char* body :
       {"5", "{}", R"({"prompt":5})", R"({"messages":[]})", R"({"messages":[5]})",
        R"({"messages":[{"role":"user"}]})", R"({"messages":[{"role":"user","content":[]}]})"}) {
    const auto refused = parse_tokenize(body);
    ASSERT_FALSE(refused.ok()) << body;
    EXPECT_EQ(refused.error().code, Code::invalid_argument) << body;
  }
}

TEST(FleetAsked, WhatMakesNoSenseIsRefusedByName) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "body"},
      {"{}", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":[-1]})", "prompt"},
      {R"({"prompt":[1],"max_tokens":0})", "max_tokens"},
      {R"({"prompt":[1],"max_tokens":-5})", "max_tokens"},
      {R"({"prompt":[1],"seed":1.5})", "seed"},
      {R"({"prompt":[1],"min_tokens":17})", "min_tokens"},
      {R"({"prompt":[1],"temperature":-1})", "temperature"},
      {R"({"prompt":[1],"temperature":"warm"})", "temperature"},
      {R"({"prompt":[1],"top_p":0.9})", "top_p"},
      {R"({"prompt":[1],"top_k":40})", "top_k"},
      {R"({"prompt":[1],"top_p":"0.9"})", "top_p"},
      {R"({"prompt":[1],"repetition_penalty":1.1})", "repetition_penalty"},
      {R"({"prompt":[1],"logit_bias":{"5":1}})", "logit_bias"},
      {R"({"prompt":"a","aqua":{"request":"r","turn":1,"answered":1}})", "aqua.answered"},
      {R"({"prompt":[1],"aqua":5})", "aqua"},
      {R"({"prompt":[1],"aqua":{"request":""}})", "aqua.request"},
      {R"({"prompt":[1],"aqua":{"request":"r","turn":-1}})", "aqua.turn"},
      {R"({"prompt":[1],"aqua":{"request":"r","turn":0}})", "aqua.turn"},
      {R"({"prompt":[1],"aqua":{"request":"r"}})", "aqua.turn"},
      {R"({"prompt":[1],"aqua":{"request":"r","turn":1,"answered":1}})", "aqua.answered"},
      {R"({"prompt":[1],"aqua":{"request":"r","turn":1,"receive":true}})", "aqua.receive"}};
  for (const auto& [body, named] : wrong) {
    const auto asked = parse_asked(body);
    ASSERT_FALSE(asked.ok()) << body;
    EXPECT_EQ(asked.error().code, Code::invalid_argument);
    EXPECT_THAT(asked.error().message, HasSubstr(named)) << body;
  }
}

TEST(FleetOrders, NameAnAttemptAndWhatIsToBecomeOfIt) {
  const auto move = parse_order(
      R"({"order":"move","request":"r","turn":3,"to":"b","move":4,"answered":17,"room_tokens":600})");
  ASSERT_TRUE(move.ok());
  EXPECT_EQ(move->what, Order::What::move);
  EXPECT_EQ(move->name, (AttemptName{"r", 3}));
  EXPECT_EQ(move->to, "b");
  EXPECT_EQ(move->move, 4U);
  EXPECT_EQ(move->answered, 17U);
  EXPECT_EQ(move->room_tokens, 600U);
  const auto grant = parse_order(R"({"order":"grant","request":"r","turn":4,"position":9})");
  ASSERT_TRUE(grant.ok());
  EXPECT_EQ(grant->position, 9U);
  EXPECT_EQ(parse_order(R"({"order":"resume","request":"r","turn":3,"move":4})")->move, 4U);
  EXPECT_EQ(parse_order(R"({"order":"resume","request":"r","turn":3})")->move, 0U);
}

TEST(FleetOrders, WhatMakesNoSenseIsRefused) {
  for (
      const char* body :
      {"", "5", "{}", R"({"order":"dance","request":"r","turn":1})",
       R"({"order":"resume","request":"r","turn":1,"move":-4})", R"({"order":"resume","turn":1})",
       R"({"order":"resume","request":"r"})", R"({"order":"grant","request":"r","turn":1})",
       R"({"order":"grant","request":"r","turn":1,"position":-1})",
       R"({"order":"move","request":"r","turn":1,"to":"b","move":4,"answered":17})",
       R"({"order":"move","request":"r","turn":1,"to":"","move":4,"answered":1,"room_tokens":1})"}) {
    const auto order = parse_order(body);
    ASSERT_FALSE(order.ok()) << body;
    EXPECT_EQ(order.error().code, Code::invalid_argument) << body;
  }
}

}  // namespace
}  // namespace aqua::fleet
