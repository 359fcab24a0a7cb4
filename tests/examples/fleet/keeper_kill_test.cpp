// SPDX-License-Identifier: Apache-2.0
// The keeper is killed under streams and moves: engines go on with the blocks that they have, and
// answers move by tokens, until another keeper is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <random>
#include <vector>

#include "tests/examples/fleet/rig.hpp"
#include "tools/http/http_client.hpp"

namespace aqua::fleet::test {
namespace {

using router::test::ask;
using router::test::becomes;
using router::test::request_of;

// Whether the router has heard from both engines that their pool is away, or that it is not.
bool both_say(const RouterProcess& router, bool away) {
  return router.engine("a").at("pool_away") == away && router.engine("b").at("pool_away") == away;
}

// What the engine says of its pool.
Json pool_of(const FleetEngine& engine) {
  http::HttpClient client(http::parse_url(engine.url()).value(), {});
  const auto reply = client.get("/aqua/v1/pool");
  return reply.ok() ? Json::parse(reply->body) : Json();
}

// Three answers of an engine, which are read until the test has seen enough of them. Together they
// have more blocks than a member of a new pool has at hand, which is 64.
class LongAnswers {
 public:
  static constexpr std::uint32_t kPrompt = 700;

  explicit LongAnswers(const FleetEngine& engine) {
    for (std::uint32_t i = 0; i < told_.size(); ++i) {
      answers_.push_back(std::async(std::launch::async, [this, url = engine.url(), i] {
        Answer answer = ask(url, request_of(prompt(i), i, kMost), "/v1/completions",
                            [this, i](const Answer& so_far) {
                              told_[i] = so_far.ids.size();
                              return !over_;
                            });
        if (!over_) ++ended_;
        return answer;
      }));
    }
  }
  ~LongAnswers() { over_ = true; }
  LongAnswers(const LongAnswers&) = delete;
  LongAnswers& operator=(const LongAnswers&) = delete;

  // So many tokens at least has each.
  [[nodiscard]] std::size_t tokens() const {
    std::size_t least = told_[0];
    for (const auto& told : told_) least = std::min<std::size_t>(least, told);
    return least;
  }
  void expect_right() {
    EXPECT_EQ(ended_, 0) << "they are not to end by themselves";
    over_ = true;
    for (std::uint32_t i = 0; i < answers_.size(); ++i) {
      const Answer answer = answers_[i].get();
      const auto many = static_cast<std::uint32_t>(answer.ids.size());
      EXPECT_EQ(answer.ids, reference_answer(prompt(i), i, many).ids) << i << answer.error;
    }
  }

 private:
  static constexpr std::uint32_t kMost = 2000;  // 40 s, where an iteration takes 20 ms
  static std::vector<std::uint32_t> prompt(std::uint32_t i) {
    return router::test::some_prompt(i, kPrompt);
  }

  std::array<std::atomic<std::size_t>, 3> told_{};
  std::atomic<int> ended_{0};
  std::atomic<bool> over_{false};
  std::vector<std::future<Answer>> answers_{};
};

// A request that is on its way to an engine by KV, whose source says nothing: the engine joins no
// pool before the request is given up.
class OnItsWay {
 public:
  explicit OnItsWay(const FleetEngine& engine)
      : client_(http::parse_url(engine.url()).value(), {}) {
    Json body = request_of(prompt_of(1), 1, 500);
    body["aqua"] = {{"request", "r"}, {"turn", 2}, {"answered", 10}, {"receive", true}};
    asked_ = std::async(std::launch::async, [this, text = body.dump()] {
      (void)client_.post("/v1/completions", text,
                         [](std::string_view, auto) { return http::Heard::something; });
    });
    EXPECT_TRUE(becomes([&] { return engine.metric("fleet_blocks_of_rooms") > 0; }));
  }
  ~OnItsWay() { give_up(); }
  OnItsWay(const OnItsWay&) = delete;
  OnItsWay& operator=(const OnItsWay&) = delete;

  void give_up() { client_.stop(); }

 private:
  http::HttpClient client_;
  std::future<void> asked_{};
};

TEST(DeathOfTheKeeper, EndsMovesByKvAndNoAnswerUntilAnotherIsThere) {
  const std::vector<std::string> pace{"--iteration-ms", "5"};
  Keeper keeper;
  const FleetEngine a(keeper, "a", pace), b(keeper, "b", pace);
  const RouterProcess router({a.url(), b.url()}, {"--health", "50"});
  std::mt19937 random(4);
  // More than the blocks that two engines have at hand by then: some requests have to wait.
  Clients clients(router.url(), 12, 200);
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, 2, false);
    return moves_done(router, "kv") >= 4;
  }));
  move_around(router, random, 2, false);
  keeper.kill();
  EXPECT_TRUE(becomes(
      [&] { return a.metric("fleet_keeper_away") == 1 && b.metric("fleet_keeper_away") == 1; }));
  const std::size_t asked = clients.asked();
  EXPECT_TRUE(becomes([&] { return clients.asked() > asked + 24; }));
  EXPECT_TRUE(becomes([&] { return both_say(router, true); }));
  const double by_tokens = moves_done(router, "tokens");
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, 2, false);
    return moves_done(router, "tokens") >= by_tokens + 2;
  })) << "nobody had to ask for that";
  keeper.start_again();
  EXPECT_TRUE(becomes([&] { return both_say(router, false); }));
  for (const FleetEngine* engine : {&a, &b}) {
    EXPECT_EQ(engine->metric("fleet_keeper_away"), 0);
    EXPECT_EQ(engine->metric("fleet_rejoins_total"), 1);
  }
  const double by_kv = moves_done(router, "kv");
  EXPECT_TRUE(becomes([&] {
    move_around(router, random, 2, false);
    return moves_done(router, "kv") >= by_kv + 4;
  }));
  clients.expect_all_right();
  EXPECT_TRUE(becomes([&] { return a.holds_nothing() && b.holds_nothing(); }));
  EXPECT_TRUE(becomes([&] { return router.metric("aqua_router_sweeps_waiting") == 0; }));
  EXPECT_TRUE(becomes([&] { return keeper.holds_nothing(); }));
}

// What its router knew of the pool when the answer began is old by then.
TEST(DeathOfTheKeeper, LeavesNoAnswerThatBeganWithoutItToMoveByTokens) {
  constexpr std::uint32_t kTokens = 600;
  Keeper keeper;
  const std::vector<std::string> pace{"--iteration-ms", "10"};
  const FleetEngine a(keeper, "a", pace), b(keeper, "b", pace);
  const RouterProcess router({a.url(), b.url()}, {"--health", "50"});
  EXPECT_TRUE(becomes([&] { return both_say(router, false); }));
  keeper.kill();
  EXPECT_TRUE(becomes([&] { return both_say(router, true); }));
  std::atomic<bool> begun{false};
  auto answer = std::async(std::launch::async, [&] {
    return ask(router.url(), request_of(prompt_of(3), 3, kTokens), "/v1/completions",
               [&](const Answer& so_far) {
                 begun = !so_far.ids.empty();
                 return true;
               });
  });
  EXPECT_TRUE(becomes([&] { return begun.load(); }));
  keeper.start_again();
  EXPECT_TRUE(becomes([&] { return both_say(router, false); }));
  EXPECT_TRUE(becomes([&] {
    (void)move_the_only_one(router);  // on a slow machine one may fail, by its room
    return moves_done(router, "kv") >= 1;
  }));
  EXPECT_EQ(moves_done(router, "tokens"), 0);
  EXPECT_EQ(answer.get(), reference_answer(prompt_of(3), 3, kTokens));
}

// A member of a pool has 64 to 128 blocks of 16 tokens at hand. Four answers of 660 tokens, prompts
// included, need 168 and one needs 42: they take turns. They take six seconds at least, so
// that the keeper dies long before their ends.
TEST(DeathOfTheKeeper, LeavesAnEngineTheBlocksThatItHas) {
  constexpr std::uint32_t kTokens = 600;
  Keeper keeper;
  const FleetEngine engine(keeper, "a", {"--iteration-ms", "10"});
  std::atomic<int> begun{0};
  std::vector<std::future<Answer>> answers;
  for (std::uint32_t i = 0; i < 4; ++i) {
    answers.push_back(std::async(std::launch::async, [&, i] {
      return ask(engine.url(), request_of(prompt_of(i), i, kTokens), "/v1/completions",
                 [&](const Answer& so_far) {
                   if (so_far.ids.size() == 1) ++begun;
                   return true;
                 });
    }));
  }
  EXPECT_TRUE(becomes([&] { return begun == 4; }));
  keeper.kill();
  for (std::uint32_t i = 0; i < 4; ++i)
    EXPECT_EQ(answers[i].get(), reference_answer(prompt_of(i), i, kTokens)) << i;
  const Answer large = ask(engine.url(), request_of(prompt_of(5), 5, 4000));
  EXPECT_FALSE(large.done);
  // As it comes, or where the engine has not yet counted its blocks, as it outgrows them.
  EXPECT_TRUE(large.error.find("needs 254 blocks") != std::string::npos ||
              large.error.find("larger than this engine's KV memory") != std::string::npos)
      << large.error;
  EXPECT_EQ(ask(engine.url(), request_of(prompt_of(6), 6, 100)),
            reference_answer(prompt_of(6), 6, 100));
  EXPECT_TRUE(becomes([&] { return engine.holds_nothing(); }));
}

// Three answers go on with the KV that they have. Later keepers die while the engine is about to
// join their pool, or has just done so: then there may be no block for a further token, and some
// are computed again.
TEST(DeathOfTheKeeper, IsOutlivedByAnswersHoweverOftenItComes) {
  Keeper keeper;
  const FleetEngine engine(keeper, "a", {"--iteration-ms", "20"});
  LongAnswers answers(engine);
  EXPECT_TRUE(becomes([&] { return answers.tokens() >= 50; }));
  keeper.kill();
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_keeper_away") == 1; }));
  keeper.start_again();
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_rejoins_total") == 1; }));
  EXPECT_EQ(engine.metric("fleet_prefilled_tokens_total"), 3 * LongAnswers::kPrompt);
  keeper.kill();
  for (int deaths = 0; deaths < 4; ++deaths) {
    keeper.start_again();
    EXPECT_TRUE(becomes([&] { return keeper.has_pools(); }));
    keeper.kill();
  }
  keeper.start_again();
  EXPECT_TRUE(becomes([&] {
    return engine.metric("fleet_keeper_away") == 0 && engine.metric("fleet_rejoins_total") >= 2;
  }));
  answers.expect_right();
  EXPECT_TRUE(becomes([&] { return engine.holds_nothing() && keeper.holds_nothing(); }));
}

// The next keeper hangs once the engine is a member of its pool, with fewer blocks there than its
// answers have: they go on where they are until it gives the rest.
TEST(DeathOfTheKeeper, IsFollowedByOneThatHangsWhileNoAnswerWaitsForIt) {
  Keeper keeper;
  const FleetEngine engine(keeper, "a", {"--iteration-ms", "20"});
  LongAnswers answers(engine);
  EXPECT_TRUE(becomes([&] { return answers.tokens() >= 50; }));
  OnItsWay move(engine);
  keeper.kill();
  EXPECT_TRUE(becomes([&] { return pool_of(engine).value("why", "").starts_with("keeper: "); }));
  keeper.start_again();
  EXPECT_TRUE(becomes([&] { return pool_of(engine).value("why", "?").empty(); })) << "a member";
  keeper.stop();
  move.give_up();
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_blocks_of_rooms") == 0; }));
  const std::size_t tokens = answers.tokens();
  EXPECT_TRUE(becomes([&] { return answers.tokens() >= tokens + 20; }));
  EXPECT_EQ(engine.metric("fleet_keeper_away"), 1);
  EXPECT_EQ(engine.metric("fleet_rejoins_total"), 0);
  keeper.go_on();
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_rejoins_total") == 1; }));
  EXPECT_EQ(engine.metric("fleet_keeper_away"), 0);
  answers.expect_right();
  EXPECT_TRUE(becomes([&] { return engine.holds_nothing() && keeper.holds_nothing(); }));
}

// Parcels are of one pool: what is on its way here has come, or is given up, before another is
// joined. The next keeper may die meanwhile.
TEST(DeathOfTheKeeper, IsFollowedByAnotherPoolOnceNoMoveIsUnderWay) {
  Keeper keeper;
  const FleetEngine engine(keeper, "a", {"--iteration-ms", "5"});
  OnItsWay move(engine);
  for (int deaths = 0; deaths < 2; ++deaths) {
    keeper.kill();
    keeper.start_again();
    EXPECT_TRUE(becomes([&] { return keeper.has_pools(); }));
    EXPECT_EQ(ask(engine.url(), request_of(prompt_of(6), 6, 20)),
              reference_answer(prompt_of(6), 6, 20));
    EXPECT_EQ(engine.metric("fleet_rejoins_total"), 0);
  }
  keeper.kill();
  EXPECT_TRUE(becomes([&] { return pool_of(engine).value("why", "").starts_with("keeper: "); }));
  keeper.start_again();
  move.give_up();
  EXPECT_TRUE(becomes([&] { return engine.metric("fleet_rejoins_total") == 1; }));
  EXPECT_EQ(pool_of(engine).value("why", "?"), "");
  EXPECT_EQ(engine.metric("fleet_keeper_away"), 0);
  EXPECT_EQ(ask(engine.url(), request_of(prompt_of(6), 6, 20)),
            reference_answer(prompt_of(6), 6, 20));
  EXPECT_TRUE(becomes([&] { return engine.holds_nothing() && keeper.holds_nothing(); }));
}

}  // namespace
}  // namespace aqua::fleet::test
