// SPDX-License-Identifier: Apache-2.0
// What ends the silence of an engine: tokens, not what else it says; and who may be silent.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/http/http_client.hpp"
#include "tools/router/flow/attempt.hpp"

namespace aqua::router::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// An engine that says one event again and again, and never a token.
class WordyEngine : public ::testing::Test {
 protected:
  std::unique_ptr<Attempt> ask(AttemptKind kind, std::string event) {
    engine_.script({}, [this, event = std::move(event)](std::uint32_t) {
      return engine_.over(20ms) ? "cut" : event;
    });
    EngineEndpoint endpoint = parse_engine("a=" + engine_.url()).value();
    endpoint.kv = {.pool = "p", .role = "a"};
    const Json body = request_of(some_prompt(1, 9), 1, 20);
    return std::make_unique<Attempt>(
        std::make_shared<const EngineEndpoint>(std::move(endpoint)),
        AttemptOrder{
            .kind = kind, .turn = 1, .call = {"/v1/completions", body.dump()}, .silence = 1s},
        mail_);
  }
  // How the attempt has died by then.
  std::optional<Error> death(Clock::time_point until) {
    while (Clock::now() < until) {
      for (const Mail& mail : mail_->take(until)) {
        if (const auto* died = std::get_if<AttemptDied>(&mail)) return died->error;
      }
    }
    return std::nullopt;
  }

  ScriptedEngine engine_;
  const std::shared_ptr<Mailbox> mail_ = std::make_shared<Mailbox>(4096);
};

TEST_F(WordyEngine, IsSilentWithoutATokenWhateverElseItSays) {
  for (const char* event :
       {"data: {\"aqua\":{\"event\":\"asked\"}}\n\n",
        "data: {\"choices\":[{\"text\":\"a\",\"token_ids\":[]}]}\n\n", ": busy\n\n"}) {
    const auto attempt = ask(AttemptKind::tokens, event);
    const auto died = death(Clock::now() + 30s);
    ASSERT_TRUE(died) << event;
    EXPECT_EQ(died->code, Code::deadline_exceeded) << event << died->message;
  }
}

// A destination may say no token yet, and its move has a time of its own.
TEST_F(WordyEngine, ThatWaitsForItsTurnIsJudgedFromItsGrantOn) {
  for (const char* event :
       {"data: {\"aqua\":{\"event\":\"reserved\",\"room_tokens\":1000}}\n\n", ": busy\n\n"}) {
    const auto attempt = ask(AttemptKind::receive, event);
    EXPECT_FALSE(death(Clock::now() + 3s)) << event;
    attempt->grant(0);
    const auto died = death(Clock::now() + 30s);
    ASSERT_TRUE(died) << event;
    EXPECT_EQ(died->code, Code::deadline_exceeded) << event << died->message;
  }
}

// An engine says nothing of it before it has all, however well it is.
TEST(PassedOnWhole, AnAnswerTakesAsLongAsItsEngineIsUp) {
  constexpr int kChecks = 30;  // of health, a tenth of a second between two: beyond the silence
  ScriptedEngine engine;
  engine.be({.pool = R"({"pool":"p","role":"a"})"});  // which each check asks for
  engine.script({}, [&engine](std::uint32_t token) -> std::string {
    const int enough = engine.pools_told + kChecks;
    while (token == 0 && engine.pools_told < enough && !engine.over(20ms)) continue;
    return "";
  });
  const RouterProcess router({engine.url()}, {"--silence", "1"});
  Json body = request_of(some_prompt(1, 9), 1, 5);
  body["stream"] = false;
  body["logprobs"] = 1;
  const auto told_by = [&](const std::string& url) {
    http::HttpClient client(http::parse_url(url).value(), {});
    std::string told;
    const auto reply =
        client.post("/v1/completions", body.dump(), [&](std::string_view more, auto) {
          told += more;
          return http::Heard::something;
        });
    EXPECT_TRUE(reply.ok() && reply->status == 200) << told;
    return told;
  };
  const std::string passed_on = told_by(router.url());
  EXPECT_EQ(engine.asked, 1);
  engine.script({}, {});
  EXPECT_EQ(passed_on, told_by(engine.url()));
}

}  // namespace
}  // namespace aqua::router::test
