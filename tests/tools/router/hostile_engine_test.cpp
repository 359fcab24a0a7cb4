// SPDX-License-Identifier: Apache-2.0
// Engines that do what they should not: named, bounded, and every answer is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "tests/tools/router/fleet_orders.hpp"
#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router::test {
namespace {

using ::testing::HasSubstr;

class HostileEngine : public ::testing::Test {
 protected:
  // One engine is right; the other is as the test makes it.
  const EngineProcess good_{{"--speed", "40", "--tells-tokens", "320"}};
  ScriptedEngine bad_;

  static void expect_all_right(const RouterProcess& router) {
    std::vector<std::future<Answer>> answers;
    for (std::uint32_t i = 0; i < 12; ++i) {
      answers.push_back(std::async(std::launch::async, [&, i] {
        return ask(router.url(), request_of(some_prompt(i, 30), i, 100));
      }));
    }
    for (std::uint32_t i = 0; i < 12; ++i)
      EXPECT_EQ(answers[i].get(), expected_answer(some_prompt(i, 30), i, 100)) << i;
  }
  // Answers are right until the router blames the bad engine: on a slow machine they may leave it
  // before it can do harm.
  static void expect_blamed(const RouterProcess& router,
                            const std::function<bool(const Json& engine)>& blamed) {
    EXPECT_TRUE(becomes([&] {
      expect_all_right(router);
      return blamed(router.engine("b"));
    }));
  }
  static void expect_fault(const RouterProcess& router, const char* text) {
    expect_blamed(router, [text](const Json& engine) {
      return engine.at("fault").get<std::string>().find(text) != std::string::npos;
    });
  }
};

TEST_F(HostileEngine, WhoseEventsAreMalformedIsNamedAndEveryAnswerIsRight) {
  for (const char* nonsense :
       {"data: {\"choices\"\n\n", "data: []\n\n", "data: {\"choices\":[5]}\n\n",
        "data: {\"error\":{\"message\":\"CUDA error\"}}\n\n", "cut"}) {
    bad_.script({}, [nonsense](std::uint32_t token) { return token == 10 ? nonsense : ""; });
    const RouterProcess router({good_.url(), bad_.url()}, {"--policy", "lb"});
    expect_fault(router, "engine b: ");
  }
}

TEST_F(HostileEngine, ThatSaysAnEventWithoutEndIsCut) {
  bad_.script({}, [](std::uint32_t) { return std::string(1 << 16, 'x'); });
  const RouterProcess router({good_.url(), bad_.url()}, {"--policy", "lb"});
  expect_fault(router, "more than");
}

// Such an engine is one of a pool, whose attempts are named: by its positions a token that comes
// twice, or not at all, is found before it passes.
TEST_F(HostileEngine, ThatRepeatsOrSkipsATokenEndsItsStreamAndEveryAnswerIsRight) {
  bad_.be({.pool = R"({"pool":"p","role":"b"})"});
  for (const auto& [bug, named] : {std::pair{"again", " again; "}, {"skip", "is missing"}}) {
    bad_.script({}, [bug = bug](std::uint32_t token) { return token == 10 ? bug : ""; });
    const RouterProcess router({good_.url(), bad_.url()}, {"--policy", "lb"});
    expect_fault(router, named);
    EXPECT_GT(router.metric("aqua_router_engine_faults_total", "malformed"), 0);
  }
}

TEST_F(HostileEngine, ThatPromisesRoomItLacksGetsNoMoreThanItTakes) {
  const EngineProcess liar({"--speed", "40", "--tells-tokens", "100000000", "--most", "2"});
  const RouterProcess router({good_.url(), liar.url()}, {"--policy", "lb"});
  expect_blamed(router, [](const Json& engine) { return engine.at("faults").at("refused") > 0; });
}

TEST_F(HostileEngine, WhoseCapacityCannotBeIsNotUsed) {
  bad_.be({.blocks = "1e300"});
  const RouterProcess router({good_.url(), bad_.url()}, {}, 1);
  EXPECT_TRUE(becomes([&] {
    return router.engine("b").at("fault").get<std::string>().find("cannot be") != std::string::npos;
  }));
  expect_all_right(router);
  EXPECT_EQ(bad_.asked, 0);
}

TEST_F(HostileEngine, OfAnotherModelOrTokenizerIsNotUsed) {
  for (const bool model : {false, true}) {
    if (model) bad_.be({.models = R"({"data":[{"id":"another"}]})"});
    if (!model) bad_.be({.cuts_off = 1});
    // The first to tell is believed: the good one is alone at first.
    const RouterProcess alone({good_.url()});
    const RouterProcess router({good_.url(), bad_.url()}, {}, 1);
    EXPECT_TRUE(becomes([&] {
      const std::string a = router.engine("a").at("fault"), b = router.engine("b").at("fault");
      return (a + b).find(model ? "it serves" : "its tokenizer") != std::string::npos;
    })) << router.get("/admin/v1/engines").dump();
  }
}

TEST_F(HostileEngine, ThatTellsNoIdsIsServedAndDoesNotMove) {
  const EngineProcess silent({"--speed", "40", "--tells-no-ids"});
  const RouterProcess router({silent.url()});
  Json body = request_of(some_prompt(1, 20), 1, 200);
  const Answer answer = ask(router.url(), body);
  EXPECT_EQ(answer.text, expected_answer(some_prompt(1, 20), 1, 200).text);
  EXPECT_TRUE(answer.done);
}

TEST_F(HostileEngine, ThatRefusesForItsClientsFaultIsQuoted) {
  bad_.status = 400;
  const RouterProcess router({bad_.url()});
  const Answer answer = ask(router.url(), request_of(some_prompt(1, 20), 1, 20));
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.error, HasSubstr("as the script has it"));
}

// The request was right for the engine that began the answer.
TEST_F(HostileEngine, ThatRefusesToGoOnWithAnAnswerIsNotItsClientsFault) {
  std::atomic<bool> broke_off{false};
  bad_.script({}, [&](std::uint32_t token) -> std::string {
    if (token < 10 || broke_off.exchange(true)) return "";
    bad_.refuses = true;
    return "cut";
  });
  const RouterProcess router({bad_.url()});
  EXPECT_EQ(ask(router.url(), request_of(some_prompt(1, 20), 1, 40)),
            expected_answer(some_prompt(1, 20), 1, 40));
  EXPECT_EQ(router.metric("aqua_router_engine_faults_total", "refused"), 1);
}

TEST_F(HostileEngine, ThatIsAloneAndAlwaysBreaksOffIsGivenUp) {
  bad_.script({}, [](std::uint32_t) { return "cut"; });
  const RouterProcess router({bad_.url()});
  const Answer answer = ask(router.url(), request_of(some_prompt(1, 20), 1, 20));
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.error, HasSubstr("given up after 5 attempts"));
}

// It may have ended and come back between two health checks.
TEST(ReplacedEngine, ThatServesAnotherModelIsFoundOutAfterItBrokeOff) {
  ScriptedEngine a;
  FleetOptions options;
  options.health = std::chrono::milliseconds(20);
  const auto fleet = Fleet::open(options, {at_url("a", a.url())}).value();
  await_up(*fleet);
  a.be({.models = R"({"data":[{"id":"another"}]})"});
  fleet->fault("a", FaultKind::broke_off, "its stream was cut");
  EXPECT_TRUE(becomes([&] {
    const EngineView engine = fleet->engines().front();
    return engine.state == "down" && engine.fault.find("it serves another") != std::string::npos;
  }));
}

TEST(ReplacedEngine, ThatKnowsNoSuchModelIsNoFaultOfTheClients) {
  ScriptedEngine a, b;
  a.status = 404;
  const auto fleet = Fleet::open({}, {at_url("a", a.url()), at_url("b", b.url())}).value();
  await_up(*fleet);
  ASSERT_TRUE(fleet->drain("b").ok());
  Counters counters;
  const std::string body = request_of(some_prompt(1, 9), 1, 40).dump();
  Conversation conversation(*fleet, counters, {}, parse_asked(Api::completions, body).value(), body,
                            "cmpl-1");
  const auto alive = [] { return true; };
  ASSERT_TRUE(conversation.begin(alive).ok());
  ASSERT_TRUE(fleet->resume("b").ok());
  while (!conversation.over()) {
    const auto words = conversation.next(alive);
    ASSERT_TRUE(words.ok()) << words.error().message;
  }
  EXPECT_EQ(conversation.answer_tokens(), 40U);
  EXPECT_EQ(a.asked, 1);
}

}  // namespace
}  // namespace aqua::router::test
