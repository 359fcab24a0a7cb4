// SPDX-License-Identifier: Apache-2.0
// A move by KV that is ordered while the source still computes the prompt waits for its first
// token: before it there is nothing to hand over. Engines are the test's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"
#include "tools/router/flow/conversation.hpp"

namespace aqua::router::test {
namespace {

constexpr std::uint32_t kEarlyTokens = 30;
constexpr std::chrono::milliseconds kEarlyPace{5};

// Two engines of a pool, and one request. The engine that has it says nothing before it may, and
// its last token before it may; the other has no room, or where it takes the request, the first
// waits behind its first token.
class EarlyMove : public ::testing::Test {
 protected:
  void start(std::chrono::milliseconds hold) {
    std::vector<EngineEndpoint> endpoints;
    for (ScriptedEngine* engine : {a_.get(), b_.get()}) {
      const std::string name(1, "ab"[endpoints.size()]);
      engine->be({.pool = Json{{"pool", "p"}, {"role", name}}.dump()});
      engine->script({}, [this, engine](std::uint32_t token) -> std::string {
        if (dies_ == engine) return "cut";
        if (source_ == dies_) source_ = engine;
        const auto wait = [engine](bool may) {
          return may || engine->over(kEarlyPace) ? "" : ": busy\n\n";
        };
        if (source_ != engine && takes_) return take(wait(granted_));
        if (source_ != engine)
          return "data: {\"aqua\":{\"event\":\"failed\",\"reason\":\"no_room\"}}\n\n";
        if (takes_ && token > 0) return wait(false);
        if (token > 0 && token < kEarlyTokens - 1) return "";
        return wait(token == 0 ? begins_ : ends_);
      });
      engine->obey([this](const Json& order) {
        if (order.at("order") == "move") handed_ = true;
        if (order.at("order") == "grant") granted_ = true;
        if (order.at("order") == "sweep") swept_ = true;
        return 200;
      });
      endpoints.push_back(parse_engine(name + "=" + engine->url()).value());
    }
    FleetOptions options;
    options.health = std::chrono::milliseconds(20);
    fleet_ = Fleet::open(options, std::move(endpoints)).value();
    EXPECT_TRUE(becomes([&] {
      return std::ranges::all_of(fleet_->engines(), [](auto& one) { return one.state == "up"; });
    }));
    answer_ = std::async(std::launch::async, [this, hold] { return converse(hold); });
    EXPECT_TRUE(becomes([&] { return source_ != nullptr; }));
    ASSERT_TRUE(fleet_->move("cmpl-1", source_ == a_.get() ? "b" : "a").ok());
    ordered_ = std::chrono::steady_clock::now();
    const int before = looks_;
    EXPECT_TRUE(becomes([&] { return looks_ > before + 1; })) << "it has the order by then";
  }
  ~EarlyMove() override { begins_ = ends_ = true; }

  // What a destination says that takes the request: its words, and else `otherwise`.
  std::string take(const char* otherwise) {
    if (!reserved_.exchange(true))
      return "data: {\"aqua\":{\"event\":\"reserved\",\"room_tokens\":1000}}\n\n";
    if (handed_ && !confirmed_.exchange(true))
      return "data: {\"aqua\":{\"event\":\"confirmed\",\"position\":1}}\n\n";
    return otherwise;
  }

  std::vector<TokenId> converse(std::chrono::milliseconds hold) {
    const std::string body = request_of(prompt_, 5, kEarlyTokens).dump();
    ConversationOptions options;
    options.hold = hold;
    Conversation conversation(*fleet_, counters_, options,
                              parse_asked(Api::completions, body).value(), body, "cmpl-1");
    // It is asked between two looks at what has come.
    const Conversation::Alive alive = [this] { return ++looks_, !leaves_; };
    std::vector<TokenId> ids;
    EXPECT_TRUE(conversation.begin(alive).ok());
    while (!conversation.over()) {
      const auto words = conversation.next(alive);
      if (!words.ok()) break;
      for (const Conversation::Words& some : *words)
        ids.insert(ids.end(), some.ids.begin(), some.ids.end());
    }
    return ids;
  }
  [[nodiscard]] RequestView request() const { return fleet_->requests().at(0); }
  // Where it is ordered to.
  [[nodiscard]] std::unique_ptr<ScriptedEngine>& the_other() {
    return source_ == a_.get() ? b_ : a_;
  }
  void expect_the_answer() {
    begins_ = ends_ = true;
    EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kEarlyTokens).ids);
  }

  std::atomic<bool> begins_{false}, ends_{false};
  std::atomic<bool> takes_{false}, reserved_{false}, handed_{false}, confirmed_{false};
  std::atomic<bool> granted_{false}, swept_{false};
  std::chrono::steady_clock::time_point ordered_{};  // by then it was
  std::atomic<bool> leaves_{false};                  // the client
  std::atomic<int> looks_{0};
  std::atomic<ScriptedEngine*> source_{nullptr}, dies_{nullptr};
  std::unique_ptr<ScriptedEngine> a_ = std::make_unique<ScriptedEngine>();
  std::unique_ptr<ScriptedEngine> b_ = std::make_unique<ScriptedEngine>();
  Counters counters_;
  std::unique_ptr<Fleet> fleet_;
  const std::vector<TokenId> prompt_ = some_prompt(9, 30);
  std::future<std::vector<TokenId>> answer_;
};

TEST_F(EarlyMove, WaitsForTheFirstToken) {
  start(std::chrono::minutes(1));
  EXPECT_NE(request().moves_to, "");
  EXPECT_EQ(the_other()->asked, 0);
  begins_ = true;
  EXPECT_TRUE(becomes([&] { return request().failed_as == "no_room"; })) << "it was asked then";
  expect_the_answer();
}

TEST_F(EarlyMove, IsTimedFromItsOrderOn) {
  takes_ = true;
  start(std::chrono::minutes(1));
  const auto waited = std::chrono::steady_clock::now() - ordered_;
  expect_the_answer();
  EXPECT_EQ(fleet_->counts().moves.of(migration::Kind::kv, MoveEnd::done), 1U);
  const auto& times = counters_.moves[static_cast<std::size_t>(migration::Kind::kv)];
  EXPECT_GE(std::chrono::microseconds(times.microseconds.load()), waited);
}

// Its destination may die with the parcel in hand, at once.
TEST_F(EarlyMove, IsSweptAlsoWhereItIsDone) {
  takes_ = true;
  start(std::chrono::minutes(1));
  expect_the_answer();
  EXPECT_EQ(fleet_->counts().moves.of(migration::Kind::kv, MoveEnd::done), 1U);
  EXPECT_TRUE(becomes([&] { return swept_ && fleet_->counts().sweeps == 0; }));
}

TEST_F(EarlyMove, WaitsNoLongerThanAMoveMay) {
  start(std::chrono::milliseconds(20));
  EXPECT_TRUE(becomes([&] { return request().failed_as == "not_yet"; }));
  EXPECT_EQ(request().moves_to, "");
  expect_the_answer();
  EXPECT_EQ(the_other()->asked, 0);
  EXPECT_EQ(fleet_->counts().moves.failed(migration::Kind::kv), 1U);
}

TEST_F(EarlyMove, IsOverWhereItsDestinationGoesDownFirst) {
  start(std::chrono::minutes(1));
  the_other().reset();
  EXPECT_TRUE(becomes([&] { return request().failed_as == "died"; }));
  EXPECT_EQ(request().moves_to, "");
  expect_the_answer();
  const auto moves = fleet_->last_moves();
  ASSERT_EQ(moves.size(), 1U);
  EXPECT_EQ(moves[0].to, source_ == a_.get() ? "b" : "a");
}

// The request begins anew on the other engine, where it was to go.
TEST_F(EarlyMove, IsOverWhereItsSourceDiesFirst) {
  start(std::chrono::minutes(1));
  dies_ = source_.load();
  EXPECT_TRUE(becomes([&] { return source_ != dies_; }));
  expect_the_answer();
  EXPECT_EQ(fleet_->counts().moves.of(migration::Kind::kv, MoveEnd::died), 1U);
  EXPECT_EQ(fleet_->last_moves().size(), 1U);
  EXPECT_EQ(fleet_->counts().recoveries, 1U);
}

TEST_F(EarlyMove, IsNoFailureWhereTheClientGoesFirst) {
  start(std::chrono::minutes(1));
  leaves_ = true;
  EXPECT_TRUE(answer_.get().empty());
  EXPECT_EQ(fleet_->counts().moves.of(migration::Kind::kv, MoveEnd::ended), 1U);
  EXPECT_EQ(fleet_->counts().moves.failed(migration::Kind::kv), 0U);
}

}  // namespace
}  // namespace aqua::router::test
