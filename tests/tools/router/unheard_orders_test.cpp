// SPDX-License-Identifier: Apache-2.0
// A source that has the order to move, holds the request and does not answer to it: the router
// cannot know whether it has it, and tells it to speak on. Engines are the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"

namespace aqua::router::test {
namespace {

constexpr std::uint32_t kUnheardTokens = 60;
constexpr std::uint32_t kBeforeHold = 20;  // tokens that the source says before it holds
constexpr const char* kBusy = ": busy\n\n";

std::string word(const char* said) {
  return std::string(R"(data: {"aqua":)") + said + "}\n\n";
}

// Two engines of a pool, and one request on one of them, which holds it until it is told to resume.
class UnheardOrders : public ::testing::Test {
 protected:
  explicit UnheardOrders(const std::string& hold = "300") {
    int number = 0;
    for (ScriptedEngine* engine : {&a_, &b_}) {
      engine->be({.pool = Json{{"pool", "p"}, {"role", std::string(1, "ab"[number++])}}.dump()});
      engine->script({}, [this, engine](std::uint32_t token) {
        if (source_ == nullptr) source_ = engine;
        return source_ == engine || died_ ? say(token) : keep_room();
      });
      engine->obey([this](const Json& order) { return obey(order); });
    }
    router_.emplace(std::vector{a_.url(), b_.url()}, std::vector<std::string>{"--hold", hold});
    answer_ = std::async(std::launch::async, [this] {
      return ask(router_->url(), request_of(prompt_, 5, kUnheardTokens), "/v1/completions",
                 [this](const Answer& so_far) {
                   told_ = so_far.ids.size();
                   return !leaves_;
                 });
    });
    EXPECT_TRUE(becomes([&] { return told_ == kBeforeHold; }));
  }
  ~UnheardOrders() override {
    const std::lock_guard lock(mu_);
    over_ = resumed_ = true;
    changed_.notify_all();
  }
  // To the engine that does not have it.
  void order_move() {
    const char* const to = source_ == &a_ ? "b" : "a";
    const std::string name = request().at("name");
    ASSERT_EQ(router_->order("/admin/v1/requests/" + name + "/move", Json{{"to", to}}.dump()), 200);
  }

  std::string say(std::uint32_t token) {
    std::unique_lock lock(mu_);
    if (token == kBeforeHold && asks_ > 0) return --asks_, word(R"({"event":"asked"})");
    if (token != holds_at_ || resumed_) return "";
    if (abandoned_) {
      resumed_ = true;
      if (dies_) return died_ = true, "cut";
      return word(R"({"event":"reported","reason":"died","why":"it heard so"})");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    return kBusy;
  }
  std::string keep_room() {
    std::unique_lock lock(mu_);
    if (!std::exchange(reserved_, true)) return word(R"({"event":"reserved","room_tokens":1000})");
    if (fails_ && !orders_.empty() && !std::exchange(failed_, true))
      return word(R"({"event":"failed","reason":"no_room","why":"others came first"})");
    changed_.wait_for(lock, std::chrono::milliseconds(20));
    return kBusy;
  }
  int obey(const Json& order) {
    std::unique_lock lock(mu_);
    if (order.at("order") == "sweep") return ++swept_, 200;  // the fleet's, of any engine
    orders_.push_back(order);
    if (order.at("order") == "resume") {
      if (loses_ > 0) return --loses_, 503;
      if (sleeps_) {  // it does not speak on, and answers late
        changed_.wait(lock, [this] { return answers_ || over_; });
        return 200;
      }
      if (asks_after_resume_) {
        asks_after_resume_ = false;
        asks_ = 1;
      } else {
        resumed_ = true;
      }
    }
    abandoned_ = abandoned_ || order.at("order") == "abandon";
    if (order.at("order") == "move" && answers_move_ != 0) return answers_move_;
    // It has the order, and its answer does not come.
    if (order.at("order") == "move") changed_.wait(lock, [this] { return over_; });
    return 200;
  }
  [[nodiscard]] std::vector<Json> orders() {
    const std::lock_guard lock(mu_);
    return orders_;
  }
  [[nodiscard]] Json request() const {
    return router_->get("/admin/v1/requests").at("requests").at(0);
  }

  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<Json> orders_{};
  bool reserved_ = false, resumed_ = false, over_ = false;
  bool asks_after_resume_ = false, sleeps_ = false, answers_ = false;
  bool fails_ = false, failed_ = false;  // the destination, once the source has its order
  bool abandoned_ = false;               // the source was told so
  bool dies_ = false;                    // the source does, once it is told so
  std::atomic<bool> died_{false};        // whichever is asked next has the request
  int answers_move_ = 0;                 // a status; 0: it does not
  int asks_ = 0;                         // before its token kBeforeHold
  std::uint32_t holds_at_ = kBeforeHold;
  int loses_ = 0;  // orders to resume
  int swept_ = 0;
  std::atomic<std::size_t> told_{0};
  std::atomic<bool> leaves_{false};  // the client
  std::atomic<ScriptedEngine*> source_{nullptr};
  ScriptedEngine a_, b_;
  std::optional<RouterProcess> router_;
  const std::vector<tool::TokenId> prompt_ = some_prompt(9, 30);
  std::future<Answer> answer_;
};

TEST_F(UnheardOrders, ASourceThatDoesNotAnswerIsToldToSpeakOn) {
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  const auto told = orders();
  ASSERT_GE(told.size(), 2U);
  EXPECT_EQ(told.at(0).at("order"), "move");
  EXPECT_EQ(told.at(1).at("order"), "resume");
  EXPECT_EQ(told.at(1).at("turn"), told.at(0).at("turn"));
  EXPECT_EQ(told.at(1).at("move"), told.at(0).at("move")) << "which is void from now on";
  EXPECT_EQ(router_->metric("aqua_router_moves_total", "failed"), 1);
  EXPECT_EQ(router_->metric("aqua_router_recoveries_total"), 0) << "nobody waited for silence";
}

TEST_F(UnheardOrders, WhyAMoveFailedIsTold) {
  EXPECT_EQ(request().at("move_failed"), "");
  const std::string name = request().at("name");
  const char* const to = source_ == &a_ ? "b" : "a";
  {
    const std::lock_guard lock(mu_);
    reserved_ = true;  // it will not say so
  }
  ASSERT_EQ(router_->order("/admin/v1/requests/" + name + "/move", Json{{"to", to}}.dump()), 200);
  EXPECT_TRUE(becomes([&] { return request().at("move_failed") != ""; }));
  EXPECT_EQ(request().at("move_failed"), std::string("engine ") + to + ": it kept no room in time");
  EXPECT_TRUE(orders().empty()) << "the source never knew";
}

// Its last words may be on their way: had they come in time, the answer would have ended first.
TEST_F(UnheardOrders, ASourceThatDoesNotKnowTheAttemptHasNotEndedItForThat) {
  {
    const std::lock_guard lock(mu_);
    answers_move_ = 404;
  }
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  EXPECT_EQ(router_->metric("aqua_router_moves_total", "ended"), 0);
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total", "refused"), 1);
}

TEST_F(UnheardOrders, AMoveFailsForWhatItsDestinationSaidFirst) {
  {
    const std::lock_guard lock(mu_);
    answers_move_ = 200;
    fails_ = true;
  }
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total", "no_room"), 1);
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total", "died"), 0);
}

TEST_F(UnheardOrders, AnEngineThatRefusesAnOrderIsNamedOnce) {
  {
    const std::lock_guard lock(mu_);
    answers_move_ = 503;
  }
  const std::string source = source_ == &a_ ? "a" : "b";
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  const Json last = router_->get("/admin/v1/moves").at("last");
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].at("why"), "engine " + source + ": answers 503: '{}'");
}

// It may hold the request: it is told until it has heard.
TEST_F(UnheardOrders, ASourceThatLosesTheWordToSpeakOnIsToldItAgain) {
  {
    const std::lock_guard lock(mu_);
    loses_ = 2;
  }
  order_move();
  EXPECT_TRUE(becomes([&] { return orders().size() == 4; }));
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  const auto told = orders();
  ASSERT_EQ(told.size(), 4U);
  for (std::size_t i = 1; i < told.size(); ++i) {
    EXPECT_EQ(told.at(i).at("order"), "resume");
    EXPECT_EQ(told.at(i).at("move"), told.at(0).at("move"));
  }
}

// A later move is none of that answer's business, whenever the answer comes.
TEST_F(UnheardOrders, ASourceThatAsksBehindAMoveIsToldWhichMovesAreOver) {
  {
    const std::lock_guard lock(mu_);
    asks_after_resume_ = true;
  }
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  const auto told = orders();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told.at(2).at("order"), "resume");
  EXPECT_EQ(told.at(2).at("move"), told.at(0).at("move"));
}

// What it asks for while it has not answered is one order more, whose like would wait in a row.
TEST_F(UnheardOrders, ASourceThatAsksWithoutEndIsToldOneThingAtATime) {
  {
    const std::lock_guard lock(mu_);
    asks_ = 50;
    holds_at_ = kBeforeHold + 1;
    sleeps_ = true;
  }
  ASSERT_TRUE(becomes([&] { return told_ == kBeforeHold + 1; }))
      << "the router has heard all of it";
  ASSERT_TRUE(becomes([&] { return !orders().empty(); }));
  EXPECT_EQ(orders().size(), 1U);
  {
    const std::lock_guard lock(mu_);
    answers_ = true;
    changed_.notify_all();
  }
  ASSERT_TRUE(becomes([&] { return orders().size() >= 2; }));
  order_move();  // which waits behind the orders to resume
  ASSERT_TRUE(becomes([&] { return orders().back().at("order") == "move"; }));
  EXPECT_EQ(orders().size(), 3U);
  {
    const std::lock_guard lock(mu_);
    sleeps_ = false;
  }
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
}

// No move fails by the clock.
class PatientOrders : public UnheardOrders {
 protected:
  PatientOrders() : UnheardOrders("60000") {}
};

TEST_F(PatientOrders, AClientThatGoesInAMoveLeavesNoParcel) {
  order_move();
  ASSERT_TRUE(becomes([&] { return orders().size() == 1; }));
  leaves_ = true;
  {
    const std::lock_guard lock(mu_);
    resumed_ = true;  // its client hears a token, and goes
  }
  (void)answer_.get();
  EXPECT_TRUE(becomes([&] {
    const std::lock_guard lock(mu_);
    return swept_ == 1;
  }));
}

// The answer is continued elsewhere, and its move is over.
TEST_F(PatientOrders, AMoveFailsForWhatItsDestinationSaidThoughItsSourceDies) {
  {
    const std::lock_guard lock(mu_);
    answers_move_ = 200;
    fails_ = dies_ = true;
  }
  order_move();
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  EXPECT_EQ(router_->metric("aqua_router_recoveries_total"), 1);
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total", "no_room"), 1);
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total", "died"), 0);
}

// Another router ordered the move.
TEST_F(UnheardOrders, ASourceThatAsksWithoutAMoveIsToldToSpeakOn) {
  {
    const std::lock_guard lock(mu_);
    asks_ = 1;
  }
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kUnheardTokens));
  const auto told = orders();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.at(0).at("order"), "resume");
  EXPECT_EQ(told.at(0).at("move"), 0);
}

}  // namespace
}  // namespace aqua::router::test
