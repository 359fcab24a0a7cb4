// SPDX-License-Identifier: Apache-2.0
// Engines with a real model, of random weights and a vocabulary of bytes: answers that moved are
// those of an engine that is asked alone, token by token and in their text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;

constexpr std::uint32_t kTokens = 240;
// Tokens of the model of random weights: the one that begins a prompt, and that of byte 0.
constexpr std::uint32_t kFirst = 1, kBytes = 3;

class FleetLlama : public ::testing::Test {
 protected:
  FleetLlama() {
    aqua::testing::ChildProcess writer({AQUA_RANDOM_MODEL_PROGRAM, model_});
    EXPECT_EQ(writer.wait(), 0);
  }
  [[nodiscard]] FleetEngine engine_alone(const std::string& name,
                                         const std::vector<std::string>& more = {}) const {
    std::vector<std::string> line{AQUA_FLEET_LLAMA_PROGRAM, "--name", name, "--model", model_,
                                  "--iteration-ms",         "5"};
    line.insert(line.end(), more.begin(), more.end());
    return FleetEngine(line);
  }
  [[nodiscard]] FleetEngine engine(const std::string& name,
                                   std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--keeper", keeper_.socket(), "--pool-blocks", "512"});
    return engine_alone(name, more);
  }
  [[nodiscard]] static Json question(std::uint32_t number, std::uint32_t least) {
    Json ids = Json::array();
    for (std::uint32_t i = 0; i < 60; ++i) ids.push_back(3 + (number * 31 + i * 7) % 256);
    return {{"prompt", ids},           {"max_tokens", kTokens}, {"min_tokens", least},
            {"seed", number},          {"temperature", 0.9},    {"stream", true},
            {"return_token_ids", true}};
  }
  // The tokens of a chat, as the engine cuts it.
  [[nodiscard]] static std::vector<std::uint32_t> tokens_of(const FleetEngine& engine,
                                                            const Json& messages) {
    http::HttpClient client(http::parse_url(engine.url()).value(), {});
    std::string answer;
    const auto reply = client.post("/tokenize", Json{{"messages", messages}}.dump(),
                                   [&](std::string_view bytes, auto) {
                                     answer += bytes;
                                     return http::Heard::something;
                                   });
    EXPECT_TRUE(reply.ok());
    return Json::parse(answer).at("tokens").get<std::vector<std::uint32_t>>();
  }
  // Asks the router, and has the answer moved after each `every` tokens.
  [[nodiscard]] static Answer asked_and_moved(const RouterProcess& router, const Json& body,
                                              std::size_t every, bool by_tokens,
                                              const std::string& path = "/v1/completions") {
    std::size_t next = every;
    return ask(router.url(), body, path, [&](const Answer& so_far) {
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
    const double before = moves_done(router, "kv") + moves_done(router, "tokens");
    EXPECT_EQ(asked_and_moved(router, body, 5, /*by_tokens=*/number % 2 == 1), alone) << number;
    const bool moved = moves_done(router, "kv") + moves_done(router, "tokens") > before;
    ended += moved && alone.finish == "stop" ? 1U : 0U;
  }
  EXPECT_GT(ended, 0U) << "none that moved ended by itself";
}

TEST_F(FleetLlama, WithoutAPoolAnAnswerMovesByTokens) {
  const FleetEngine a = engine_alone("engine-a"), b = engine_alone("engine-b");
  const RouterProcess router({a.url(), b.url()});
  const Json body = question(2, kTokens);
  const Answer alone = ask(a.url(), body);
  EXPECT_EQ(asked_and_moved(router, body, 17, /*by_tokens=*/true), alone);
  EXPECT_GE(moves_done(router, "tokens"), 3);
}

// As behind a move by tokens: the engine that has told the first byte of a character is not the one
// that tells the second.
TEST_F(FleetLlama, ACharacterThatBeganBeforeIsToldWhole) {
  const FleetEngine a = engine_alone("engine-a");
  Json body = question(1, 1);
  body["max_tokens"] = 1;
  body["prompt"].push_back(kBytes + 0xC3);
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    body["seed"] = seed;
    const Answer answer = ask(a.url(), body);
    ASSERT_EQ(answer.ids.size(), 1U) << answer.error;
    const std::uint32_t byte = answer.ids[0] - kBytes;
    if (byte < 0x80 || byte > 0xBF) continue;
    EXPECT_EQ(answer.text, std::string("\xC3") + static_cast<char>(byte));
    return;
  }
  FAIL() << "no character was completed";
}

TEST_F(FleetLlama, WithoutALimitAnAnswerGoesOnToTheEndWhereverItIs) {
  const FleetEngine a = engine("engine-a", {"--blocks", "16"}),
                    b = engine("engine-b", {"--blocks", "16"});
  const RouterProcess router({a.url(), b.url()});
  const Json messages = {{{"role", "user"}, {"content", "Go on."}}};
  const auto prompt = tokens_of(a, messages);
  Json body = question(3, 180);
  body["prompt"] = prompt;
  body["max_tokens"] = nullptr;
  const Answer alone = ask(a.url(), body);
  EXPECT_GE(alone.ids.size(), 180U);
  EXPECT_LE(alone.ids.size(), 16U * 16 - prompt.size());
  body.erase("prompt");
  body.erase("max_tokens");
  body["messages"] = messages;
  EXPECT_EQ(asked_and_moved(router, body, 30, /*by_tokens=*/true, "/v1/chat/completions"), alone);
  EXPECT_GE(moves_done(router, "tokens"), 2);
}

// Each engine has a limit of its own, which is that of the answers that are on it.
TEST_F(FleetLlama, WithoutALimitAnAnswerMovesToASmallerEngineAsKv) {
  const FleetEngine a = engine("engine-a", {"--blocks", "64"}),
                    b = engine("engine-b", {"--blocks", "32"});
  const RouterProcess router({a.url(), b.url()});
  const Json messages = {{{"role", "user"}, {"content", "Go on."}}};
  const auto prompt = tokens_of(b, messages);
  const auto limit = static_cast<std::uint32_t>(32 * 16 - prompt.size());
  Json body = question(3, limit);
  body["prompt"] = prompt;
  body["max_tokens"] = nullptr;
  const Answer alone = ask(b.url(), body);
  EXPECT_EQ(alone.ids.size(), limit);
  body.erase("prompt");
  body.erase("max_tokens");
  body["messages"] = messages;
  bool moved = false;
  const Answer answer = ask(router.url(), body, "/v1/chat/completions", [&](const Answer& so_far) {
    if (so_far.ids.size() < 5 || std::exchange(moved, true)) return true;
    EXPECT_EQ(router.engine("a").at("requests"), 1);
    EXPECT_TRUE(move_the_only_one(router));
    return true;
  });
  EXPECT_EQ(answer, alone) << answer.error;
  EXPECT_EQ(moves_done(router, "kv"), 1);
  EXPECT_EQ(router.metric("aqua_router_recoveries_total"), 0);
}

TEST_F(FleetLlama, OfEnginesThatBeginTogetherOneLoadsTheWeights) {
  std::vector<std::future<std::size_t>> told;
  for (const char* const name : {"a", "b", "c", "d"}) {
    told.push_back(std::async(std::launch::async, [this, name] {
      const FleetEngine one = engine(name);
      return ask(one.url(), question(1, kTokens)).ids.size();
    }));
  }
  for (auto& one : told) EXPECT_EQ(one.get(), kTokens);
}

TEST_F(FleetLlama, AChatIsItsTokens) {
  const FleetEngine a = engine("engine-a");
  const RouterProcess router({a.url()});
  const Json messages = {{{"role", "user"}, {"content", "Ça va?"}}};
  // Its vocabulary has a sign for the space, also before the first word.
  const std::string text = "▁<|im_start|>user\nÇa▁va?<|im_end|>\n<|im_start|>assistant\n";
  std::vector<std::uint32_t> expected{kFirst};
  for (const char byte : text) expected.push_back(kBytes + static_cast<unsigned char>(byte));
  const auto tokens = tokens_of(a, messages);
  EXPECT_EQ(tokens, expected);
  Json body = question(4, kTokens);
  body["prompt"] = tokens;
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
