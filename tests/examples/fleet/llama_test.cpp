// SPDX-License-Identifier: Apache-2.0
// Engines with a real model, of random weights and a vocabulary of bytes: answers that moved are
// those of an engine that is asked alone, token by token and in their text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;

constexpr std::uint32_t kTokens = 240;

class FleetLlama : public ::testing::Test {
 protected:
  FleetLlama() {
    aqua::testing::ChildProcess writer({AQUA_RANDOM_MODEL_PROGRAM, model_});
    EXPECT_EQ(writer.wait(), 0);
  }
  [[nodiscard]] FleetEngine engine(const std::string& name) const {
    return FleetEngine({AQUA_FLEET_LLAMA_PROGRAM, "--name", name, "--model", model_, "--keeper",
                        keeper_.socket(), "--iteration-ms", "5", "--pool-blocks", "512"});
  }
  [[nodiscard]] static Json question(std::uint32_t number, std::uint32_t least) {
    Json ids = Json::array();
    for (std::uint32_t i = 0; i < 60; ++i) ids.push_back(3 + (number * 31 + i * 7) % 256);
    return {{"prompt", ids},           {"max_tokens", kTokens}, {"min_tokens", least},
            {"seed", number},          {"temperature", 0.9},    {"stream", true},
            {"return_token_ids", true}};
  }
  // Asks the router, and has the answer moved after each `every` tokens.
  [[nodiscard]] static Answer asked_and_moved(const RouterProcess& router, const Json& body,
                                              std::size_t every, bool by_tokens) {
    std::size_t next = every;
    return ask(router.url(), body, "/v1/completions", [&](const Answer& so_far) {
      if (so_far.ids.size() < next) return true;
      next += every;
      (void)move_the_only_one(router, by_tokens);
      return true;
    });
  }

  const Place place_;
  const std::string model_ = place_.keeper() + ".gguf";
  const Keeper keeper_;
};

TEST_F(FleetLlama, AnAnswerThatMovedIsTheOneThatStayed) {
  const FleetEngine a = engine("engine-a"), b = engine("engine-b");
  const RouterProcess router({a.url(), b.url()});
  const Json body = question(1, kTokens);
  const Answer alone = ask(a.url(), body);
  EXPECT_EQ(alone.ids.size(), kTokens);
  EXPECT_EQ(alone.finish, "length");
  EXPECT_EQ(asked_and_moved(router, body, 23, /*by_tokens=*/false), alone);
  EXPECT_GE(moves_done(router, "kv"), 4);
  EXPECT_EQ(asked_and_moved(router, body, 40, /*by_tokens=*/true), alone);
  EXPECT_GE(moves_done(router, "tokens"), 2);
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return keeper_.holds_nothing(); }));
}

TEST_F(FleetLlama, AnAnswerEndsByItselfWhereverItIs) {
  const FleetEngine a = engine("engine-a"), b = engine("engine-b");
  const RouterProcess router({a.url(), b.url()});
  std::size_t ended = 0;
  for (std::uint32_t number = 0; number < 6; ++number) {
    const Json body = question(number, 0);
    const Answer alone = ask(b.url(), body);
    EXPECT_EQ(asked_and_moved(router, body, 20, /*by_tokens=*/number % 2 == 1), alone) << number;
    ended += alone.finish == "stop" ? 1U : 0U;
  }
  EXPECT_GT(ended, 0U);
}

TEST_F(FleetLlama, AChatIsItsTokens) {
  const FleetEngine a = engine("engine-a");
  const RouterProcess router({a.url()});
  const Json messages = {{{"role", "user"}, {"content", "Ça va?"}}};
  http::HttpClient client(http::parse_url(a.url()).value(), {});
  std::string cut;
  ASSERT_TRUE(client
                  .post("/tokenize", Json{{"messages", messages}}.dump(),
                        [&](std::string_view bytes, auto) {
                          cut += bytes;
                          return http::Heard::something;
                        })
                  .ok());
  Json body = question(4, kTokens);
  body["prompt"] = Json::parse(cut).at("tokens");
  const Answer alone = ask(a.url(), body);
  EXPECT_EQ(alone.ids.size(), kTokens);
  body.erase("prompt");
  body["messages"] = messages;
  EXPECT_EQ(ask(router.url(), body, "/v1/chat/completions"), alone);
}

TEST_F(FleetLlama, WhatTheModelDoesNotHaveIsRefused) {
  const FleetEngine a = engine("engine-a");
  Json body = question(1, 1);
  body["prompt"] = {5, 100'000};
  const Answer unknown = ask(a.url(), body);
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.error, ::testing::HasSubstr("no token 100000"));
  body["prompt"] = {5};
  body["max_tokens"] = 40'000;
  EXPECT_THAT(ask(a.url(), body).error, ::testing::HasSubstr("of 2 to 32768"));
  EXPECT_EQ(ask(a.url(), question(1, kTokens)).ids.size(), kTokens) << "it lives";
}

}  // namespace
}  // namespace aqua::fleet::test
