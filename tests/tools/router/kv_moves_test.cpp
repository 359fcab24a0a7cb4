// SPDX-License-Identifier: Apache-2.0
// The words of moves by KV: what engines are told, and what is made of what they say.
#include "tools/router/speech/kv_moves.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/router/fleet/engine.hpp"

namespace aqua::router {
namespace {

using Json = nlohmann::json;
using What = MoveWord::What;

Result<std::optional<MoveWord>> said(const char* data) {
  return parse_move_word(data);
}

TEST(KvMoves, AnEngineIsOfAPoolOnlyIfItSaysAllOfIt) {
  EXPECT_EQ(parse_pool(R"({"pool":"/run/k#p","role":"a"})"), (EnginePool{"/run/k#p", "a"}));
  EXPECT_FALSE(parse_pool(R"({"pool":"p","role":"a","away":false})").away);
  for (const char* away : {"true", "1", "null"}) {
    const std::string body = std::string(R"({"pool":"p","role":"a","away":)") + away + "}";
    EXPECT_EQ(parse_pool(body), (EnginePool{"p", "a", true})) << "it may not be there";
  }
  for (const char* body : {"", "[]", "{}", R"({"pool":"p"})", R"({"role":"a"})",
                           R"({"pool":5,"role":"a"})", R"({"pool":"","role":"a"})"})
    EXPECT_EQ(parse_pool(body), EnginePool{}) << body;
  EXPECT_EQ(parse_pool(R"({"role":"a","pool":")" + std::string(2000, 'p') + "\"}"), EnginePool{});
}

TEST(KvMoves, ACallIsNamedAndStaysWhatItWas) {
  const EngineCall call{"/v1/completions", R"({"prompt":[1,2],"seed":3})"};
  const EngineCall told = named(call, {"cmpl-1", 7}, 1, "b");
  EXPECT_EQ(told.path, call.path);
  EXPECT_EQ(Json::parse(told.body), Json::parse(R"({"prompt":[1,2],"seed":3,
                "aqua":{"request":"cmpl-1","turn":7,"answered":1,"receive":true,"from":"b"}})"));
  EXPECT_EQ(Json::parse(named(call, {"cmpl-1", 7}, 1, "").body), Json::parse(R"({"prompt":[1,2],
                "seed":3,"aqua":{"request":"cmpl-1","turn":7,"answered":1,"receive":false}})"));
}

TEST(KvMoves, AnEngineHasAWayToWhomItReachesAndBackOnlyWhereThatOneReachesIt) {
  EngineEndpoint a, b, c;
  a.kv = parse_pool(R"({"pool":"p","role":"a","reaches":["b"]})");
  b.kv = parse_pool(R"({"pool":"q","role":"b"})");
  c.kv = parse_pool(R"({"pool":"p","role":"c","reaches":["b",5]})");
  EXPECT_TRUE(hands_over(a, b));
  EXPECT_FALSE(hands_over(b, a));
  EXPECT_TRUE(hands_over(a, c)) << "of one pool";
  EXPECT_FALSE(hands_over(c, b)) << "what makes no sense reaches nobody";
  EXPECT_FALSE(hands_over(a, EngineEndpoint{})) << "who has no pool";
  b.kv.away = true;
  EXPECT_FALSE(hands_over(a, b));
  EXPECT_TRUE(has_way(a, b));
}

TEST(KvMoves, WordsAreReadAndTokensAreNone) {
  const auto reserved = said(R"({"aqua":{"event":"reserved","room_tokens":600}})");
  ASSERT_TRUE(reserved.ok() && *reserved);
  EXPECT_EQ((*reserved)->what, What::reserved);
  EXPECT_EQ((*reserved)->room_tokens, 600U);
  const auto confirmed = said(R"({"aqua":{"event":"confirmed","position":9}})");
  ASSERT_TRUE(confirmed.ok() && *confirmed);
  EXPECT_EQ((*confirmed)->position, 9U);
  const auto failed = said(R"({"aqua":{"event":"failed","why":"no room"}})");
  ASSERT_TRUE(failed.ok() && *failed);
  EXPECT_EQ((*failed)->why, "no room");
  EXPECT_FALSE((*failed)->reason);
  const auto full = said(R"({"aqua":{"event":"failed","reason":"no_room"}})");
  ASSERT_TRUE(full.ok() && *full);
  EXPECT_EQ((*full)->reason, MoveEnd::no_room);
  EXPECT_FALSE((*said(R"({"aqua":{"event":"failed","reason":"tired"}})"))->reason);
  const std::string long_why =
      R"({"aqua":{"event":"failed","why":"a\nb)" + std::string(2000, 'x') + "\"}}";
  const auto cut = said(long_why.c_str());
  ASSERT_TRUE(cut.ok() && *cut);
  EXPECT_EQ((*cut)->why, "a?b" + std::string(297, 'x'));
  EXPECT_EQ((*said(R"({"aqua":{"event":"asked"}})"))->what, What::asked);
  EXPECT_EQ((*said(R"({"aqua":{"event":"reported"}})"))->what, What::reported);
  for (const char* data : {"[DONE]", R"({"choices":[]})", R"({"choices":[{"text":"\"aqua\""}]})",
                           R"({"choices":[],"aqua":{"turn":3,"position":9}})",
                           R"({"choices" : [],"aqua":{"turn":3,"position":9}})"}) {
    const auto none = said(data);
    ASSERT_TRUE(none.ok()) << data;
    EXPECT_FALSE(*none) << data;
  }
}

TEST(KvMoves, WordsThatMakeNoSenseAreNoWords) {
  for (const char* data :
       {R"({"aqua":5})", R"({"aqua":{}})", R"({"aqua":{"event":"dance"}})",
        R"({"aqua":{"event":"reserved"}})", R"({"aqua":{"event":"reserved","room_tokens":-1}})",
        R"({"aqua":{"event":"confirmed","position":99999999999999}})"}) {
    const auto word = said(data);
    ASSERT_FALSE(word.ok()) << data;
    EXPECT_EQ(word.error().code, Code::data_loss) << data;
  }
}

TEST(KvMoves, OrdersSayTheAttemptAndWhatIsToBecomeOfIt) {
  const EngineCall move = move_order({"r", 3}, {"p", "b"}, 4, 17, 600);
  EXPECT_EQ(move.path, kOrdersPath);
  EXPECT_EQ(Json::parse(move.body), Json::parse(R"({"order":"move","request":"r","turn":3,"to":"b",
      "move":4,"answered":17,"room_tokens":600})"));
  EXPECT_EQ(Json::parse(grant_order({"r", 4}, 9).body),
            Json::parse(R"({"order":"grant","request":"r","turn":4,"position":9})"));
  EXPECT_EQ(Json::parse(resume_order({"r", 3}, 4).body),
            Json::parse(R"({"order":"resume","request":"r","turn":3,"move":4})"));
  EXPECT_EQ(Json::parse(plain_order("abandon", {"r", 3}).body),
            Json::parse(R"({"order":"abandon","request":"r","turn":3})"));
  EXPECT_EQ(Json::parse(sweep_order({"r", 4}).body),
            Json::parse(R"({"order":"sweep","request":"r","turn":4})"));
}

}  // namespace
}  // namespace aqua::router
