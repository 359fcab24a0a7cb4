// SPDX-License-Identifier: Apache-2.0
// Sweeps of requests while engines are being asked. The engine is the test's own, and answers when
// it is told to.
#include "tools/router/fleet/sweeps.hpp"

#include <gtest/gtest.h>

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

// The sweep names the turn of the move that failed, so that it does no harm to a later one.
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

// Couriers may have it: it is with the first keeper until it has ended at the second one.
TEST(SweepsBetweenPools, AreOverOnceTheFirstHasNothingAndTheSecondIsSweptBehindThat) {
  ScriptedEngine from, to;
  std::mutex mu;
  std::string asked;
  int left = 2;  // times that the courier has it still
  from.obey([&](const auto&) {
    const std::lock_guard lock(mu);
    asked += "f";
    return left-- > 0 ? 503 : 200;
  });
  to.obey([&](const auto&) {
    const std::lock_guard lock(mu);
    asked += "t";
    return 200;
  });
  const auto endpoint = [](const char* name, const ScriptedEngine& engine) {
    return std::make_shared<const EngineEndpoint>(parse_engine(name + engine.url()).value());
  };
  const auto first = endpoint("f=", from), second = endpoint("t=", to);
  Sweeps sweeps([&](const std::string& pool) { return std::vector{pool == "p" ? first : second}; },
                std::chrono::milliseconds(10));
  sweeps.add({"p", "q", "r"}, 4);
  EXPECT_TRUE(becomes([&] { return sweeps.waiting() == 0; }));
  const std::lock_guard lock(mu);
  EXPECT_EQ(asked, "ftftft");
}

}  // namespace
}  // namespace aqua::router::test
