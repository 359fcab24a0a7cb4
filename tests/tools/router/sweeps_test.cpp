// SPDX-License-Identifier: Apache-2.0
// Sweeps of requests that move again while engines are being asked. The engine is the test's own,
// and answers when it is told to.
#include "tools/router/fleet/sweeps.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "tests/tools/router/live.hpp"
#include "tests/tools/router/scripted_engine.hpp"

namespace aqua::router::test {
namespace {

class SweepsOfRequests : public ::testing::Test {
 protected:
  SweepsOfRequests() {
    engine_.obey([this](const nlohmann::json& order) {
      {
        const std::lock_guard lock(mu_);
        asked_.push_back(order.at("request"));
      }
      arrived_.release();
      go_on_.acquire();
      return 200;
    });
  }
  ~SweepsOfRequests() override { go_on_.release(100); }

  [[nodiscard]] std::vector<std::string> asked() {
    const std::lock_guard lock(mu_);
    return asked_;
  }

  std::mutex mu_;
  std::vector<std::string> asked_{};
  std::counting_semaphore<> arrived_{0}, go_on_{0};
  ScriptedEngine engine_;
  const std::shared_ptr<const EngineDoor> door_ =
      std::make_shared<const EngineDoor>(parse_engine("a=" + engine_.url()).value());
  Sweeps sweeps_{[this](const std::string&) { return std::vector{door_}; },
                 std::chrono::milliseconds(10)};
};

TEST_F(SweepsOfRequests, WhatMovesAgainIsNotSweptThoughItsRoundHasBegun) {
  sweeps_.add("p", "a");
  arrived_.acquire();
  for (const char* request : {"b", "c"}) sweeps_.add("p", request);
  go_on_.release();
  arrived_.acquire();  // b and c are of one round
  sweeps_.forget("p", "c");
  go_on_.release(2);
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  sweeps_.add("p", "d");
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  EXPECT_EQ(asked(), (std::vector<std::string>{"a", "b", "d"}));
}

// What was asked for before says nothing of the parcel of the later move.
TEST_F(SweepsOfRequests, AMoveThatFailsMeanwhileIsSweptAsWell) {
  sweeps_.add("p", "a");
  arrived_.acquire();
  sweeps_.add("p", "a");
  go_on_.release(2);
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  EXPECT_EQ(asked(), (std::vector<std::string>{"a", "a"}));
}

// What an engine is asked for just now would end the parcel of the next move.
TEST_F(SweepsOfRequests, WhoMovesAgainWaitsForTheEngineThatIsAsked) {
  sweeps_.add("p", "a");
  arrived_.acquire();
  auto forgotten = std::async(std::launch::async, [&] { sweeps_.forget("p", "a"); });
  EXPECT_EQ(forgotten.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  go_on_.release();
  forgotten.get();
  EXPECT_EQ(sweeps_.waiting(), 0U);
}

// No byte now and then makes its time longer.
TEST_F(SweepsOfRequests, WhoMovesAgainDoesNotWaitForAnAnswerThatDrips) {
  engine_.stall_at(kOrdersPath, ScriptedEngine::Stall::drips);
  sweeps_.add("p", "a");
  ASSERT_TRUE(becomes([&] { return engine_.stalled > 0; }));
  auto forgotten = std::async(std::launch::async, [&] { sweeps_.forget("p", "a"); });
  EXPECT_EQ(forgotten.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  engine_.stall_at("", {});
  go_on_.release();
  sweeps_.add("p", "b");
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  EXPECT_EQ(asked(), (std::vector<std::string>{"b"})) << "the old one is not asked for again";
}

}  // namespace
}  // namespace aqua::router::test
