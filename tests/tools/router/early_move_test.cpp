// SPDX-License-Identifier: Apache-2.0
// A move by KV that is ordered while the source still computes the prompt waits for its first
// token: before it there is nothing to hand over. Engines are the test's own.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"

namespace aqua::router::test {
namespace {

constexpr std::uint32_t kEarlyTokens = 30;
constexpr std::chrono::milliseconds kEarlyPace{5};

// Two engines of a pool. The one that is asked first says nothing before it may.
class EarlyMove : public ::testing::Test {
 protected:
  void start(const std::string& hold) {
    int number = 0;
    for (ScriptedEngine* engine : {&a_, &b_}) {
      engine->be({.pool = Json{{"pool", "p"}, {"role", std::string(1, "ab"[number++])}}.dump()});
      engine->script({}, [this, engine](std::uint32_t token) -> std::string {
        if (source_ == nullptr) source_ = engine;
        if (source_ != engine) {
          asked_early_ = asked_early_ || !begins_;
          return R"(data: {"aqua":{"event":"failed","reason":"no_room"}})"
                 "\n\n";
        }
        if (token > 0 && token < kEarlyTokens - 1 && !ends_) return "";
        const bool goes_on = token == 0 ? begins_.load() : ends_.load();
        return goes_on || engine->over(kEarlyPace) ? "" : ": busy\n\n";
      });
      engine->obey([](const Json&) { return 200; });
    }
    router_.emplace(std::vector{a_.url(), b_.url()}, std::vector<std::string>{"--hold", hold});
    answer_ = std::async(std::launch::async, [this] {
      return ask(router_->url(), request_of(prompt_, 5, kEarlyTokens));
    });
    EXPECT_TRUE(becomes([&] { return source_ != nullptr; }));
    ASSERT_EQ(router_->order("/admin/v1/requests/" + name() + "/move",
                             Json{{"to", source_ == &a_ ? "b" : "a"}}.dump()),
              200);
  }
  ~EarlyMove() override { begins_ = ends_ = true; }
  [[nodiscard]] Json request() const {
    return router_->get("/admin/v1/requests").at("requests").at(0);
  }
  [[nodiscard]] std::string name() const { return request().at("name"); }
  [[nodiscard]] bool failed_as(const std::string& reason) const {
    return request().at("move_failed_reason") == reason;
  }

  std::atomic<bool> begins_{false}, ends_{false}, asked_early_{false};
  std::atomic<ScriptedEngine*> source_{nullptr};
  ScriptedEngine a_, b_;
  std::optional<RouterProcess> router_;
  const std::vector<tool::TokenId> prompt_ = some_prompt(9, 30);
  std::future<Answer> answer_;
};

TEST_F(EarlyMove, WaitsForTheFirstToken) {
  start("60000");
  EXPECT_TRUE(becomes([&] { return request().at("moves_to") != ""; }));
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total"), 0);
  begins_ = true;
  EXPECT_TRUE(becomes([&] { return failed_as("no_room"); })) << "the destination was asked then";
  EXPECT_FALSE(asked_early_);
  ends_ = true;
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kEarlyTokens));
}

TEST_F(EarlyMove, WaitsNoLongerThanAMoveMay) {
  start("100");
  EXPECT_TRUE(becomes([&] { return failed_as("not_yet"); }));
  EXPECT_EQ(request().at("moves_to"), "");
  begins_ = ends_ = true;
  EXPECT_EQ(answer_.get(), expected_answer(prompt_, 5, kEarlyTokens));
  EXPECT_FALSE(asked_early_);
  EXPECT_EQ(router_->metric("aqua_router_move_failures_total"), 1);
}

}  // namespace
}  // namespace aqua::router::test
