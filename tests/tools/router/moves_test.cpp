// SPDX-License-Identifier: Apache-2.0
// Answers that move between engines, and go on where engines die, by real processes: each is what
// an engine says that is left alone, token by token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "tests/tools/router/live.hpp"

namespace aqua::router::test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kQuick{"--speed", "40"};
// Said to be small, so that a few requests fill it and the packer wakes the next.
const std::vector<std::string> kSmall{"--speed", "40", "--tells-tokens", "3200"};

// Clients that ask one question after another, and compare.
class Load {
 public:
  Load(const std::string& url, std::size_t clients, std::uint32_t tokens) {
    for (std::size_t i = 0; i < clients; ++i) {
      threads_.emplace_back([this, url, tokens, i] {
        for (std::uint32_t n = 0; !over_; ++n) {
          const auto seed = static_cast<std::uint32_t>(i * 1000 + n);
          const auto prompt = some_prompt(seed, 50);
          const Answer answer = ask(url, request_of(prompt, seed, tokens));
          ++asked_;
          if (answer == expected_answer(prompt, seed, tokens)) {
            ++right_;
            continue;
          }
          const std::lock_guard lock(mu_);
          wrong_ += answer.error + " after " + std::to_string(answer.ids.size()) + "; ";
        }
      });
    }
  }
  ~Load() { end(); }
  // All that were asked are answered.
  void end() {
    over_ = true;
    threads_.clear();
  }
  [[nodiscard]] std::size_t asked() const { return asked_; }
  void expect_all_right() {
    end();
    EXPECT_EQ(right_, asked_) << wrong_;
    EXPECT_GT(asked_, 0u);
  }

 private:
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> asked_{0}, right_{0};
  std::mutex mu_;
  std::string wrong_;
  std::vector<std::jthread> threads_;
};

// Orders every request that can move to another engine, again and again.
void move_around(const RouterProcess& router, std::mt19937& random, std::size_t engines) {
  const Json all = router.get("/admin/v1/requests");
  for (const Json& request : all.value("requests", Json::array())) {
    const std::string to(1, static_cast<char>('a' + random() % engines));
    (void)router.order("/admin/v1/requests/" + request.at("name").get<std::string>() + "/move",
                       Json{{"to", to}}.dump());
  }
}

TEST(Answers, AreTheEnginesWhateverTheWords) {
  const EngineProcess engine(kQuick);
  const RouterProcess router({engine.url()});
  const auto prompt = tool::ids_of("hello");
  const Answer expected = expected_answer(prompt, 4, 40);
  Json body = request_of(prompt, 4, 40);
  EXPECT_EQ(ask(router.url(), body), expected);
  body["stream"] = false;
  EXPECT_EQ(ask(router.url(), body), expected);
  body["prompt"] = "hello";
  const Answer whole = ask(router.url(), body);
  EXPECT_EQ(whole, expected);
  EXPECT_EQ(whole.body.at("usage").at("prompt_tokens"), prompt.size());
  EXPECT_EQ(whole.body.at("usage").at("completion_tokens"), 40);

  Json chat{{"messages", {{{"role", "user"}, {"content", "hi"}}}},
            {"max_tokens", 40},
            {"ignore_eos", true},
            {"stream", true},
            {"return_token_ids", true}};
  const Answer direct = ask(engine.url(), chat, "/v1/chat/completions");
  EXPECT_EQ(ask(router.url(), chat, "/v1/chat/completions"), direct);
  chat["stream"] = false;
  EXPECT_EQ(ask(router.url(), chat, "/v1/chat/completions"), direct);
  EXPECT_EQ(router.get("/v1/models").at("data")[0].at("id"), "simulated");
}

TEST(Answers, EndAtAStopTextAndTheEngineIsTold) {
  const EngineProcess engine(kQuick);
  const RouterProcess router({engine.url()});
  const auto prompt = some_prompt(3, 20);
  const Answer all = expected_answer(prompt, 0, 300);
  const std::string stop = all.text.substr(40, 5);
  Json body = request_of(prompt, 0, 100'000);
  body["stop"] = stop;
  const Answer answer = ask(router.url(), body);
  EXPECT_EQ(answer.text, all.text.substr(0, all.text.find(stop)));
  EXPECT_EQ(answer.finish, "stop");
  EXPECT_TRUE(becomes([&] { return engine.used() == 0; }));
}

TEST(Answers, WhatStaysIsPassedOnAsItIs) {
  const EngineProcess engine(kQuick);
  const RouterProcess router({engine.url()});
  Json body = request_of(some_prompt(1, 20), 1, 30);
  body["logprobs"] = 1;
  EXPECT_EQ(ask(router.url(), body), expected_answer(some_prompt(1, 20), 1, 30));
  body["stream"] = false;
  EXPECT_EQ(ask(router.url(), body), expected_answer(some_prompt(1, 20), 1, 30));
}

TEST(Moves, UnderLoadNoTokenIsLostOrDoubled) {
  const EngineProcess a(kQuick), b(kQuick), c(kQuick);
  const RouterProcess router({a.url(), b.url(), c.url()});
  std::mt19937 random(1);
  Load load(router.url(), 12, 400);
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, 3);
    return router.metric("aqua_router_moves_total", "done") >= 100;
  }));
  load.expect_all_right();
  EXPECT_TRUE(becomes([&] { return a.used() + b.used() + c.used() == 0; })) << "nothing leaks";
}

TEST(Moves, ADrainedEngineIsLeftAndComesBack) {
  const EngineProcess a(kQuick), b(kQuick);
  const RouterProcess router({a.url(), b.url()});
  const auto prompt = some_prompt(2, 40);
  constexpr std::uint32_t kMany = 100'000;  // more than is waited for
  std::string drained;
  const Answer answer =
      ask(router.url(), request_of(prompt, 2, kMany), "/v1/completions", [&](const Answer& so_far) {
        if (drained.empty()) {
          drained = router.get("/admin/v1/requests").at("requests").at(0).at("engine");
          EXPECT_EQ(router.order("/admin/v1/engines/" + drained + "/drain"), 200);
          EXPECT_EQ(router.order("/admin/v1/engines/" + drained + "/drain"), 409);
          EXPECT_EQ(router.order("/admin/v1/engines/x/drain"), 404);
        }
        if (so_far.ids.size() % 50 != 0) return true;
        return router.metric("aqua_router_moves_total", "done") < 1;
      });
  EXPECT_LT(answer.ids.size(), kMany);
  const Answer expected = expected_answer(prompt, 2, static_cast<std::uint32_t>(answer.ids.size()));
  EXPECT_EQ(answer.ids, expected.ids);
  EXPECT_EQ(router.engine(drained).at("state"), "draining");
  EXPECT_TRUE(becomes([&] { return router.engine(drained).at("requests") == 0; }));
  const Json moves = router.get("/admin/v1/moves");
  bool told = false;
  for (const Json& move : moves.at("last")) {
    if (move.at("from") != drained) continue;
    told = true;
    EXPECT_EQ(move.at("cause"), "drains") << move.dump();
  }
  EXPECT_TRUE(told) << moves.dump();
  EXPECT_EQ(router.order("/admin/v1/engines/" + drained + "/drain", "", true), 200);
  EXPECT_EQ(router.order("/admin/v1/engines/" + drained + "/drain", "", true), 409);
  EXPECT_EQ(router.engine(drained).at("state"), "up");
}

TEST(Moves, ThatCannotBeAreRefusedAndChangeNothing) {
  const EngineProcess a(kQuick), b(kQuick);
  const RouterProcess router({a.url(), b.url()});
  EXPECT_EQ(router.order("/admin/v1/requests/cmpl-nobody/move", R"({"to":"a"})"), 404);
  Json body = request_of(some_prompt(1, 20), 1, 3000);
  body["n"] = 1;
  body["logprobs"] = 1;
  bool asked = false;
  (void)ask(router.url(), body, "/v1/completions", [&](const Answer&) {
    const Json request = router.get("/admin/v1/requests").at("requests").at(0);
    const std::string path =
        "/admin/v1/requests/" + request.at("name").get<std::string>() + "/move";
    EXPECT_THAT(request.at("stays").get<std::string>(), HasSubstr("logprobs"));
    EXPECT_EQ(router.order(path, R"({"to":"b"})"), 409);
    EXPECT_EQ(router.order(path, R"({"to":"x"})"), 404);
    EXPECT_EQ(router.order(path, "{}"), 400);
    asked = true;
    return false;
  });
  EXPECT_TRUE(asked);
}

class DeathBySignal : public ::testing::TestWithParam<int> {};

// SIGKILL: connections break. SIGSTOP: they are silent, and health checks tell.
TEST_P(DeathBySignal, OfAnEngineNoAnswerNotices) {
  std::array<EngineProcess, 3> engines{EngineProcess(kSmall), EngineProcess(kSmall),
                                       EngineProcess(kSmall)};
  const RouterProcess router({engines[0].url(), engines[1].url(), engines[2].url()},
                             {"--policy", "lb"});
  Load load(router.url(), 18, 500);
  std::string victim;  // whichever is in use
  ASSERT_TRUE(becomes([&] {
    if (load.asked() <= 18) return false;
    for (const char* name : {"c", "b", "a"}) {
      if (victim.empty() && router.engine(name).at("requests") > 0) victim = name;
    }
    return !victim.empty();
  }));
  auto& child = engines.at(static_cast<std::size_t>(victim.at(0) - 'a')).child;
  if (GetParam() == SIGSTOP) {
    child.stop();
  } else {
    child.signal(GetParam());
  }
  EXPECT_TRUE(becomes([&] { return router.engine(victim).at("state") == "down"; }));
  const std::size_t before = load.asked();
  EXPECT_TRUE(becomes([&] { return load.asked() > before + 18; }));
  if (GetParam() == SIGSTOP) {
    child.signal(SIGCONT);
    EXPECT_TRUE(becomes([&] { return router.engine(victim).at("state") == "up"; }));
  }
  load.expect_all_right();
}
INSTANTIATE_TEST_SUITE_P(By, DeathBySignal, ::testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& by) { return by.param == SIGKILL ? "Kill" : "Stop"; });

TEST(Deaths, AtRandomMomentsOfMovesNoAnswerNotices) {
  std::vector<std::unique_ptr<EngineProcess>> engines;
  std::vector<std::string> urls;
  for (int i = 0; i < 4; ++i) {
    engines.push_back(std::make_unique<EngineProcess>(kSmall));
    urls.push_back(engines.back()->url());
  }
  const RouterProcess router(urls, {"--policy", "lb"});
  std::mt19937 random(7);
  Load load(router.url(), 8, 400);
  for (int round = 0; round < 12; ++round) {
    const double moves =
        router.metric("aqua_router_moves_total") + 1 + static_cast<double>(random() % 6);
    EXPECT_TRUE(becomes([&] {
      move_around(router, random, 4);
      return router.metric("aqua_router_moves_total") >= moves;
    }));
    const std::size_t victim = random() % 4;  // one at a time is down
    const std::string name(1, static_cast<char>('a' + victim));
    const std::string port = urls[victim].substr(urls[victim].rfind(':') + 1);
    if (round % 2 == 0) {
      engines[victim]->child.stop();
      EXPECT_TRUE(becomes([&] { return router.engine(name).at("state") == "down"; }));
      engines[victim]->child.signal(SIGCONT);
    } else {
      engines[victim]->child.signal(SIGKILL);
      engines[victim]->child.wait();
      engines[victim] = std::make_unique<EngineProcess>(
          std::vector<std::string>{"--speed", "40", "--tells-tokens", "3200", "--port", port});
      EXPECT_EQ(engines[victim]->url(), urls[victim]);
    }
    EXPECT_TRUE(becomes([&] { return router.engine(name).at("state") == "up"; }))
        << router.engine(name).dump();
  }
  load.expect_all_right();
}

TEST(Router, KilledLeavesNothingOnTheEnginesAndTheNextAsksThem) {
  const EngineProcess a(kQuick), b(kQuick);
  {
    RouterProcess router({a.url(), b.url()});
    const Answer cut = ask(router.url(), request_of(some_prompt(1, 20), 1, 100'000),
                           "/v1/completions", [&](const Answer& so_far) {
                             if (so_far.ids.size() == 20) router.child.signal(SIGKILL);
                             return true;
                           });
    EXPECT_FALSE(cut.done);
    EXPECT_EQ(cut.finish, "");
  }
  EXPECT_TRUE(becomes([&] { return a.used() + b.used() == 0; }));
  const RouterProcess next({a.url(), b.url()});
  EXPECT_EQ(ask(next.url(), request_of(some_prompt(1, 20), 1, 50)),
            expected_answer(some_prompt(1, 20), 1, 50));
}

TEST(Router, StoppedAndContinuedItLosesNothing) {
  const EngineProcess a(kQuick), b(kQuick);
  const RouterProcess router({a.url(), b.url()});
  std::mt19937 random(3);
  Load load(router.url(), 4, 300);
  for (int i = 0; i < 5; ++i) {
    const std::size_t before = load.asked();
    move_around(router, random, 2);
    router.child.stop();
    router.child.signal(SIGCONT);
    EXPECT_TRUE(becomes([&] { return load.asked() > before; }));
  }
  load.expect_all_right();
}

TEST(Router, LetsAnswersEndOnSigtermAndTakesNoMore) {
  const EngineProcess a({"--speed", "4"});  // its answer takes seconds: another is refused by then
  RouterProcess router({a.url()});
  std::string later;
  const auto prompt = some_prompt(1, 20);
  const Answer answer =
      ask(router.url(), request_of(prompt, 1, 2000), "/v1/completions", [&](const Answer& so_far) {
        if (so_far.ids.size() < 20 || !later.empty()) return true;
        router.child.signal(SIGTERM);
        EXPECT_EQ(router.child.read_line(), "stopping: 1 requests to end");
        EXPECT_TRUE(becomes([&] {
          later = ask(router.url(), request_of(prompt, 1, 3)).error;
          return !later.empty();
        }));
        return true;
      });
  EXPECT_EQ(answer, expected_answer(prompt, 1, 2000));
  EXPECT_THAT(later, HasSubstr("the router is stopping"));
  EXPECT_EQ(router.child.wait(), 0);
}

TEST(Router, EndsWhatTakesTooLongAndSaysSo) {
  const EngineProcess a(kQuick);
  RouterProcess router({a.url()}, {"--drain-timeout", "0"});
  const Answer answer = ask(router.url(), request_of(some_prompt(1, 20), 1, 1'000'00),
                            "/v1/completions", [&](const Answer& so_far) {
                              if (so_far.ids.size() == 20) router.child.signal(SIGTERM);
                              return true;
                            });
  EXPECT_FALSE(answer.done);
  EXPECT_THAT(answer.error, HasSubstr("the router is stopping"));
  EXPECT_EQ(router.child.wait(), 0);
  EXPECT_TRUE(becomes([&] { return a.used() == 0; }));
}

}  // namespace
}  // namespace aqua::router::test
