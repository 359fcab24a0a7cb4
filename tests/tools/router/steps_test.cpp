// SPDX-License-Identifier: Apache-2.0
// Source, destination and client go at each step of a move: while the destination warms up, and
// while what the source says is held. Engines are the test's own, so that each step is where the
// test wants it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"

namespace aqua::router::test {
namespace {

// A place where an engine waits until the test lets it go on, by its word or in silence.
class Stop {
 public:
  std::string wait(const ScriptedEngine& engine) {
    std::unique_lock lock(mu_);
    reached_ = true;
    changed_.notify_all();
    while (!open_ && !engine.over()) changed_.wait_for(lock, std::chrono::milliseconds(10));
    return answer_;
  }
  void await() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void open(std::string answer = "") {
    const std::lock_guard lock(mu_);
    open_ = true;
    answer_ = std::move(answer);
    changed_.notify_all();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
  std::string answer_;
};

constexpr std::uint32_t kTokens = 60;
constexpr std::uint32_t kBefore = 20;  // tokens that the first engine says before it waits

// Two engines and one request on one of them, which has said kBefore tokens and waits.
class Steps : public ::testing::Test {
 protected:
  struct Place {
    ScriptedEngine engine;
    Stop speaks, goes_on, warms, takes_over;
    std::atomic<bool> speaker{false};
  };

  Steps() {
    for (Place* place : {&a_, &b_}) {
      place->engine.script([place](std::uint32_t) { return place->warms.wait(place->engine); },
                           [this, place](std::uint32_t token) -> std::string {
                             if (token == 0 && !first_.exchange(true)) place->speaker = true;
                             if (place->speaker && token == kBefore)
                               return place->speaks.wait(place->engine);
                             if (place->speaker && token > 0 && token == pause_again_)
                               return place->goes_on.wait(place->engine);
                             if (!place->speaker && token == 0)
                               return place->takes_over.wait(place->engine);
                             return "";
                           });
    }
    router_.emplace(std::vector{a_.engine.url(), b_.engine.url()},
                    std::vector<std::string>{"--hold", "30000"});
    answer_ = std::async(std::launch::async, [this] {
      return ask(router_->url(), request_of(prompt_, 5, kTokens), "/v1/completions",
                 [this](const Answer& so_far) {
                   told_ = so_far.ids.size();
                   return !vanish_;
                 });
    });
    EXPECT_TRUE(becomes([&] { return a_.speaker || b_.speaker; }));
    source_ = a_.speaker ? &a_ : &b_;
    destination_ = a_.speaker ? &b_ : &a_;
    source_->speaks.await();
    EXPECT_TRUE(becomes([&] { return told_ == kBefore; }));
  }
  ~Steps() override {
    for (Place* place : {&a_, &b_}) {
      for (Stop* stop : {&place->speaks, &place->goes_on, &place->warms, &place->takes_over})
        stop->open();
    }
  }

  // Orders the move, and waits until the destination warms up.
  void warm() {
    const std::string name = router_->get("/admin/v1/requests").at("requests").at(0).at("name");
    const std::string to = destination_ == &a_ ? "a" : "b";
    EXPECT_EQ(router_->order("/admin/v1/requests/" + name + "/move", Json{{"to", to}}.dump()), 200);
    EXPECT_EQ(router_->order("/admin/v1/requests/" + name + "/move", Json{{"to", to}}.dump()), 409);
    destination_->warms.await();
  }
  // And until it is asked for the rest, and what the source says is held.
  void hold() {
    warm();
    destination_->warms.open();
    destination_->takes_over.await();
  }
  void expect_right() { EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kTokens)); }
  [[nodiscard]] double moves(const char* outcome) const {
    return router_->metric("aqua_router_moves_total", outcome);
  }

  std::atomic<bool> first_{false};
  std::atomic<std::size_t> told_{0};
  std::atomic<bool> vanish_{false};
  std::atomic<std::uint32_t> pause_again_{0};  // at this token; 0: not
  Place a_, b_;
  Place *source_ = nullptr, *destination_ = nullptr;
  std::optional<RouterProcess> router_;
  const std::vector<tool::TokenId> prompt_ = some_prompt(9, 30);
  std::future<Answer> answer_;
};

TEST_F(Steps, TheDestinationTakesOverAndTheSourceIsCut) {
  hold();
  destination_->takes_over.open();
  expect_right();
  EXPECT_EQ(moves("done"), 1);
  source_->speaks.open();
  EXPECT_TRUE(becomes([&] { return source_->engine.running == 0; }));
  EXPECT_EQ(destination_->engine.warm_ups, 1);
}

TEST_F(Steps, WhileItWarmsUpTheSourceGoesOn) {
  warm();
  source_->speaks.open();
  expect_right();
  EXPECT_EQ(told_, kTokens);
  EXPECT_EQ(moves("done"), 0);
  destination_->warms.open();
  EXPECT_TRUE(becomes([&] { return destination_->engine.running == 0; }));
}

// Else the client would wait for it.
TEST_F(Steps, WhatIsSaidDuringAWarmUpIsComputedAheadAsWell) {
  pause_again_ = 40;
  warm();
  source_->speaks.open();
  source_->goes_on.await();
  EXPECT_TRUE(becomes([&] { return told_ == 40U; }));
  destination_->warms.open();
  destination_->takes_over.await();
  EXPECT_EQ(destination_->engine.warm_ups, 2);
  destination_->takes_over.open();
  expect_right();
  EXPECT_EQ(moves("done"), 1);
}

TEST_F(Steps, ADestinationThatDiesWarmingUpCostsNothing) {
  warm();
  destination_->warms.open("cut");
  EXPECT_TRUE(becomes([&] { return moves("failed") == 1; }));
  source_->speaks.open();
  expect_right();
}

TEST_F(Steps, ADestinationThatDiesWhileTheSourceIsHeldCostsNothing) {
  hold();
  source_->speaks.open();  // all that it has left to say is held
  EXPECT_TRUE(becomes([&] { return source_->engine.running == 0; }));
  destination_->takes_over.open("cut");
  expect_right();
  EXPECT_EQ(moves("done"), 0);
}

TEST_F(Steps, ADestinationThatTalksNonsenseCostsNothing) {
  hold();
  destination_->takes_over.open("data: nonsense\n\n");
  EXPECT_TRUE(becomes([&] { return moves("failed") == 1; }));
  source_->speaks.open();
  expect_right();
  EXPECT_EQ(router_->metric("aqua_router_engine_faults_total", "malformed"), 1);
}

TEST_F(Steps, ASourceThatDiesDuringTheWarmUpIsContinued) {
  warm();
  source_->speaks.open("cut");
  // Not before it is known: who has warmed up by then takes over, and nothing is to be recovered.
  EXPECT_TRUE(becomes([&] { return router_->metric("aqua_router_recoveries_total") == 1; }));
  destination_->warms.open();
  destination_->takes_over.open();
  source_->takes_over.open();
  expect_right();
}

TEST_F(Steps, ASourceThatDiesWhileItIsHeldIsContinued) {
  hold();
  source_->speaks.open("cut");
  EXPECT_TRUE(becomes([&] { return router_->metric("aqua_router_recoveries_total") == 1; }));
  destination_->takes_over.open();
  source_->takes_over.open();
  expect_right();
}

TEST_F(Steps, AClientThatVanishesInAMoveLeavesNothing) {
  hold();
  vanish_ = true;
  source_->speaks.open();
  destination_->takes_over.open();  // the next token ends the client
  (void)answer_.get();
  EXPECT_TRUE(becomes([&] { return a_.engine.running + b_.engine.running == 0; }));
  EXPECT_TRUE(becomes([&] { return router_->metric("aqua_router_requests") == 0; }));
}

}  // namespace
}  // namespace aqua::router::test
