// SPDX-License-Identifier: Apache-2.0
// Sweeps of requests while engines are being asked. The engine is the test's own, and answers when
// it is told to.
#include "tools/router/fleet/sweeps.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>
#include <string>
#include <utility>
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
        asked_.emplace_back(order.at("request"), order.at("turn"));
      }
      arrived_.release();
      go_on_.acquire();
      return 200;
    });
  }
  ~SweepsOfRequests() override { go_on_.release(Sweeps::kMost + 100); }

  using Asked = std::vector<std::pair<std::string, Turn>>;
  [[nodiscard]] Asked asked() {
    const std::lock_guard lock(mu_);
    return asked_;
  }

  // A move within one pool.
  static Sweeps::Name of(const std::string& request) { return {"p", "p", request}; }

  std::mutex mu_;
  Asked asked_{};
  std::counting_semaphore<> arrived_{0}, go_on_{0};
  ScriptedEngine engine_;
  const std::shared_ptr<const EngineEndpoint> endpoint_ =
      std::make_shared<const EngineEndpoint>(parse_engine("a=" + engine_.url()).value());
  Sweeps sweeps_{[this](const std::string&) { return std::vector{endpoint_}; },
                 std::chrono::milliseconds(10)};
};

// The sweep names the turn of the move, so that it does no harm to a later one.
TEST_F(SweepsOfRequests, NameTheTurnUpToWhichParcelsEnd) {
  sweeps_.add(of("a"), 4);
  arrived_.acquire();
  for (const Turn turn : {Turn{7}, Turn{5}}) sweeps_.add(of("b"), turn);
  go_on_.release(2);
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  EXPECT_EQ(asked(), (Asked{{"a", 4}, {"b", 7}})) << "the highest of a request's is enough";
}

// What was asked for before says nothing of the parcel of the later move.
TEST_F(SweepsOfRequests, AMoveThatFailsMeanwhileIsSweptAsWell) {
  sweeps_.add(of("a"), 4);
  arrived_.acquire();
  sweeps_.add(of("a"), 6);
  go_on_.release(2);
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 0; }));
  EXPECT_EQ(asked(), (Asked{{"a", 4}, {"a", 6}}));
}

TEST_F(SweepsOfRequests, BeyondTheMostTheOldestIsForgottenAndCounted) {
  sweeps_.add(of("a"), 1);
  arrived_.acquire();
  sweeps_.add(of("z"), 1);  // the oldest once "a" is done
  go_on_.release();
  arrived_.acquire();
  EXPECT_TRUE(becomes([&] { return sweeps_.waiting() == 1; }));
  for (std::size_t i = 0; i < Sweeps::kMost; ++i) sweeps_.add(of("b" + std::to_string(i)), 1);
  EXPECT_EQ(sweeps_.waiting(), Sweeps::kMost);
  EXPECT_EQ(sweeps_.forgotten(), 1U);
  go_on_.release(1);
  // "b0" is the first of the next round by its name, and still there.
  arrived_.acquire();
  EXPECT_EQ(asked().back(), (Asked::value_type{"b0", 1}));
}

// Asked in turn, each of two pools' engines: "f" of the first, "t" of the second. An engine says so
// many times that a courier or a taker has the parcel still.
std::string asked_while(int first_has_it, int second_has_it) {
  ScriptedEngine from, to;
  std::mutex mu;
  std::string asked;
  const auto obey = [&](ScriptedEngine& engine, char letter, int& left) {
    engine.obey([&, letter](const auto&) {
      const std::lock_guard lock(mu);
      asked += letter;
      return left-- > 0 ? 503 : 200;
    });
  };
  obey(from, 'f', first_has_it);
  obey(to, 't', second_has_it);
  const auto endpoint = [](const char* name, const ScriptedEngine& engine) {
    return std::make_shared<const EngineEndpoint>(parse_engine(name + engine.url()).value());
  };
  const auto first = endpoint("f=", from), second = endpoint("t=", to);
  Sweeps sweeps([&](const std::string& pool) { return std::vector{pool == "p" ? first : second}; },
                std::chrono::milliseconds(10));
  sweeps.add({"p", "q", "r"}, 4);
  EXPECT_TRUE(becomes([&] { return sweeps.waiting() == 0; }));
  EXPECT_EQ(sweeps.oldest(), std::chrono::nanoseconds(0));
  const std::lock_guard lock(mu);
  return asked;
}

// Couriers may have it: it is with the first keeper until it has ended at the second one.
TEST(SweepsBetweenPools, AreOverOnceTheFirstHasNothingAndTheSecondIsSweptBehindThat) {
  EXPECT_EQ(asked_while(2, 0), "ftftft");
}

// Of whose death the keeper may hear later than the router.
TEST(SweepsBetweenPools, GoOnWhileATakerHasIt) {
  EXPECT_EQ(asked_while(0, 2), "ftftft");
}

// One that is stuck is not asked for again each time that another one is wanted.
TEST(StuckSweeps, WaitForTheirTurnWhileOthersAreDone) {
  ScriptedEngine engine;
  std::atomic<int> stuck{0};
  engine.obey([&](const nlohmann::json& order) {
    if (order.at("request") != "stuck") return 200;
    ++stuck;
    return 503;
  });
  const auto endpoint =
      std::make_shared<const EngineEndpoint>(parse_engine("a=" + engine.url()).value());
  Sweeps sweeps([&](const std::string&) { return std::vector{endpoint}; }, std::chrono::hours(1));
  sweeps.add({"p", "p", "stuck"}, 4);
  EXPECT_TRUE(becomes([&] { return stuck == 1; }));
  for (int i = 0; i < 20; ++i) {
    sweeps.add({"p", "p", std::to_string(i)}, 4);
    EXPECT_TRUE(becomes([&] { return sweeps.waiting() == 1; }));
  }
  EXPECT_EQ(stuck, 1);
}

}  // namespace
}  // namespace aqua::router::test
