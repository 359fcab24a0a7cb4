// SPDX-License-Identifier: Apache-2.0
// OrderSender: orders reach an engine one after another, whatever it answers and however late.
#include "tools/router/flow/order_sender.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/router/scripted_engine.hpp"

namespace aqua::router {
namespace {

using ::testing::ElementsAre;

// An engine that answers "slow" when it is told to, "wrong" with 404, and all else at once.
class Slow {
 public:
  Slow() {
    server_.Get("/health", [](const auto&, auto&) {});
    server_.Post("/orders", [this](const auto& request, auto& reply) {
      note("begins " + request.body);
      if (request.body == "slow") {
        heard_slow.set_value();
        go_.wait();
      }
      if (request.body == "wrong") reply.status = 404;
      note("answers " + request.body);
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    (void)httplib::Client("127.0.0.1", port_).Get("/health");  // it is up
  }
  ~Slow() {
    if (!went_) go();
    server_.stop();
    thread_.join();
  }
  void go() {
    went_ = true;
    go_now_.set_value();
  }
  [[nodiscard]] std::shared_ptr<const EngineEndpoint> endpoint() const {
    return std::make_shared<const EngineEndpoint>(
        EngineEndpoint{.name = "slow", .url = {.host = "127.0.0.1", .port = port_}});
  }
  [[nodiscard]] std::vector<std::string> log() {
    const std::lock_guard lock(mu_);
    return log_;
  }
  std::promise<void> heard_slow{};

 private:
  void note(std::string what) {
    const std::lock_guard lock(mu_);
    log_.push_back(std::move(what));
  }
  httplib::Server server_;
  std::promise<void> go_now_{};
  std::shared_future<void> go_{go_now_.get_future()};
  bool went_ = false;
  std::mutex mu_;
  std::vector<std::string> log_{};
  int port_ = 0;
  std::thread thread_;
};

EngineCall order(const char* body) {
  return {"/orders", body};
}

TEST(OrderSender, NoOrderOvertakesAnother) {
  Slow engine;
  OrderSender sender(engine.endpoint());
  std::vector<bool> taken;  // in the sender's thread, until `last`
  std::promise<void> last;
  const auto done = [&](const Result<void>& told) { taken.push_back(told.ok()); };
  sender.post(order("slow"), done);
  engine.heard_slow.get_future().wait();
  sender.post(order("wrong"), done);
  sender.post(order("last"), [&](const Result<void>& told) {
    done(told);
    last.set_value();
  });
  EXPECT_THAT(engine.log(), ElementsAre("begins slow"));
  EXPECT_FALSE(sender.over());
  engine.go();
  last.get_future().wait();
  EXPECT_THAT(taken, ElementsAre(true, false, true)) << "who refuses one may take the next";
  EXPECT_THAT(engine.log(), ElementsAre("begins slow", "answers slow", "begins wrong",
                                        "answers wrong", "begins last", "answers last"));
}

TEST(OrderSender, TellsMoreAfterItWasOver) {
  Slow engine;
  OrderSender sender(engine.endpoint());
  EXPECT_TRUE(sender.over()) << "nothing is to be told";
  for (int i = 0; i < 20; ++i) {
    std::promise<bool> told;
    sender.post(order("one"), [&](const Result<void>& done) { told.set_value(done.ok()); });
    EXPECT_TRUE(told.get_future().get());
  }
}

TEST(OrderSender, IsCutShortByItsEndAndSaysNothingThen) {
  Slow engine;
  bool said = false;
  {
    OrderSender sender(engine.endpoint());
    sender.post(order("slow"), [&](const Result<void>&) { said = true; });
    sender.post(order("never"), [&](const Result<void>&) { said = true; });
    engine.heard_slow.get_future().wait();
  }
  EXPECT_FALSE(said);
  EXPECT_THAT(engine.log(), ElementsAre("begins slow"));
}

// A byte now and then is no answer: what waits behind it is told when its time is over.
TEST(OrderSender, WaitsForNoAnswerThatDrips) {
  test::ScriptedEngine engine;
  engine.stall_at(kOrdersPath, test::ScriptedEngine::Stall::drips);
  const auto endpoint =
      std::make_shared<const EngineEndpoint>(parse_engine("a=" + engine.url()).value());
  OrderSender sender(endpoint, std::chrono::seconds(1));
  std::promise<Code> told;
  auto code = told.get_future();
  sender.post({kOrdersPath, "{}"},
              [&](const Result<void>& done) { told.set_value(done.error().code); });
  ASSERT_EQ(code.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(code.get(), Code::deadline_exceeded);
}

}  // namespace
}  // namespace aqua::router
