// SPDX-License-Identifier: Apache-2.0
// Couriers that are killed at each step, and killed or stopped at random. Each parcel is taken
// once, with its bytes.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/handoff/answer_of_any.hpp"
#include "tests/tools/courier/two_servers.hpp"
#include "tests/tools/courier/with_ucx.hpp"

namespace aqua {
namespace {

using Process = test::TwoServers::Process;

// At which step, and over which carrier.
class KilledCourier : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    AQUA_SKIP_WITHOUT_UCX(std::get<1>(GetParam()));
    servers_.expect_carrier();
  }
  // Has one of the couriers wait at the step when a parcel comes.
  void give_until(const Process& courier, const Process& prefill) {
    ASSERT_EQ(courier->ask("stop-at " + std::get<0>(GetParam())), "ok");
    ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
    ASSERT_EQ(courier->answer(), "at " + std::get<0>(GetParam()));
  }
  // What was being carried arrives once, and so does what follows.
  void goes_on(const Process& prefill, const Process& decode, bool is_taken = false) {
    if (!is_taken) {
      EXPECT_EQ(decode->ask("take 1"), "a");
      EXPECT_EQ(decode->ask("finish"), "ok");
    }
    EXPECT_EQ(prefill->ask("delivered"), "confirmed");
    ASSERT_EQ(prefill->ask("carry b 1 6 88"), "ok");
    EXPECT_EQ(decode->ask("take 1"), "b");
  }
  test::TwoServers servers_{20, std::get<1>(GetParam())};
};
const auto kOverEach = ::testing::Values("tls", "ucx");
std::string name_of(const ::testing::TestParamInfo<KilledCourier::ParamType>& info) {
  return std::get<0>(info.param) + "_over_" + std::get<1>(info.param);
}

class KilledSendingCourier : public KilledCourier {};
INSTANTIATE_TEST_SUITE_P(Steps, KilledSendingCourier,
                         ::testing::Combine(::testing::Values("offer", "send"), kOverEach),
                         name_of);
TEST_P(KilledSendingCourier, LosesNothing) {
  const auto decode = servers_.decode(2);
  const auto prefill = servers_.prefill();
  give_until(servers_.courier_of_a(), prefill);
  servers_.kill_a();
  servers_.start_a();
  goes_on(prefill, decode);
}

class KilledFinishingCourier : public KilledCourier {};
INSTANTIATE_TEST_SUITE_P(Steps, KilledFinishingCourier,
                         ::testing::Combine(::testing::Values("finish"), kOverEach), name_of);
TEST_P(KilledFinishingCourier, SendsNothingTwice) {
  const auto decode = servers_.decode(2);
  const auto prefill = servers_.prefill();
  ASSERT_EQ(servers_.courier_of_a()->ask("stop-at finish"), "ok");
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  ASSERT_EQ(servers_.courier_of_a()->answer(), "at finish");
  servers_.kill_a();
  servers_.start_a();
  goes_on(prefill, decode, /*is_taken=*/true);
}

class KilledReceivingCourier : public KilledCourier {};
INSTANTIATE_TEST_SUITE_P(Steps, KilledReceivingCourier,
                         ::testing::Combine(::testing::Values("open", "commit", "close", "landed"),
                                            kOverEach),
                         name_of);
TEST_P(KilledReceivingCourier, LosesNothing) {
  const auto decode = servers_.decode(2);
  const auto prefill = servers_.prefill();
  give_until(servers_.courier_of_b(), prefill);
  servers_.kill_b();
  servers_.start_b();
  goes_on(prefill, decode);
}

// Between the parcel's arrival and its taker's word to its giver.
TEST(KilledReceivingCourierOf, WhatHasArrivedIsGoneOnWith) {
  test::TwoServers servers;
  const auto decode = servers.decode(2);
  const auto prefill = servers.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(decode->ask("take 1"), "a");
  servers.kill_b();
  servers.start_b();
  while (servers.courier_of_b()->ask("counters") != "0 0 1") std::this_thread::yield();
  EXPECT_EQ(decode->ask("check"), "ok");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

// Its keeper ends as well, and its taker lives on.
TEST(KilledReceivingCourierOf, WhatHasArrivedUnheardIsSentUnderATurnAboveItsTakers) {
  test::TwoServers servers;
  const auto first = servers.decode(2);
  const auto prefill = servers.prefill();
  ASSERT_EQ(servers.courier_of_b()->ask("stop-at landed"), "ok");
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(servers.courier_of_b()->answer(), "at landed");
  ASSERT_EQ(first->ask("take 1"), "a");
  const std::uint64_t before = std::stoull(first->ask("turn"));
  servers.kill_b();
  servers.keeper_of_b().kill();
  servers.keeper_of_b().start();
  servers.start_b();
  const auto second = servers.decode(2);
  ASSERT_EQ(second->ask("take 1"), "a");
  EXPECT_GT(std::stoull(second->ask("turn")), before);
  EXPECT_EQ(second->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

TEST(KilledSendingCourierOf, WhatHasArrivedIsGivenToNobodyElse) {
  test::TwoServers servers;
  const auto decode = servers.decode(2);
  const auto prefill = servers.prefill();
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(decode->ask("take 1"), "a");
  servers.kill_a();
  const auto here = servers.decode_at_a(1);
  ASSERT_EQ(prefill->ask("carry b 1 6 88"), "ok");
  EXPECT_EQ(here->ask("take 1"), "b") << "and not a, which waits for the courier";
  servers.start_a();
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

// Until the other has given up the connection, or could have.
void stop_for_a_while(const Process& stopped, const Process& other) {
  const auto could_have = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
  const std::string before = other->ask("lost");
  ::kill(stopped->pid(), SIGSTOP);
  while (other->ask("lost") == before && std::chrono::steady_clock::now() < could_have) {
    std::this_thread::yield();
  }
  ::kill(stopped->pid(), SIGCONT);
}

class CouriersOver : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { AQUA_SKIP_WITHOUT_UCX(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Carriers, CouriersOver, kOverEach,
                         [](const auto& carrier) { return carrier.param; });

// The other side gives up the connection over which bytes were due, and the courier finds it ended.
TEST_P(CouriersOver, TheSenderStoppedForLongerThanThePatienceLosesNothing) {
  test::TwoServers servers(1, GetParam());
  servers.expect_carrier();
  const auto decode = servers.decode(2);
  const auto prefill = servers.prefill();
  const Process& sending = servers.courier_of_a();
  ASSERT_EQ(sending->ask("stop-at send"), "ok");
  ASSERT_EQ(prefill->ask("carry a 1 6 77"), "ok");
  ASSERT_EQ(sending->answer(), "at send");
  ::kill(sending->pid(), SIGSTOP);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (servers.courier_of_b()->ask("lost") == "0") {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the connection is not given up";
    std::this_thread::yield();
  }
  ::kill(sending->pid(), SIGCONT);
  sending->post("go on");
  EXPECT_EQ(decode->ask("take 1"), "a");
  EXPECT_EQ(decode->ask("finish"), "ok");
  EXPECT_EQ(prefill->ask("delivered"), "confirmed");
}

// AQUA_COURIER_KILLS=200 for the full suite.
TEST_P(CouriersOver, KilledAtRandomEachParcelIsTakenOnce) {
  const char* const wanted = std::getenv("AQUA_COURIER_KILLS");
  const int kills = wanted == nullptr ? 12 : std::atoi(wanted);
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random.seed(seed);
  test::TwoServers servers(1, GetParam());
  servers.expect_carrier();
  std::vector<Process> members;
  members.push_back(servers.prefill());
  members.push_back(servers.decode(3));
  const int parcels = 4 * kills;
  members[0]->post("give " + std::to_string(parcels));
  members[1]->post("serve " + std::to_string(parcels));
  std::multiset<std::string> gave, served;
  int said_ok = 0;
  for (std::uint64_t next_kill = random() % 8; said_ok < 2;) {
    const std::string said = test::answer_of_any(members);
    if (said == "ok") {
      ++said_ok;
    } else if (said.starts_with("gave ")) {
      gave.insert(said.substr(5));
    } else {
      ASSERT_TRUE(said.starts_with("served ")) << said;
      served.insert(said.substr(7));
    }
    if (next_kill-- > 0) continue;
    next_kill = random() % 16;
    const bool first = random() % 2 == 0;
    if (random() % 4 == 0) {
      stop_for_a_while(first ? servers.courier_of_a() : servers.courier_of_b(),
                       first ? servers.courier_of_b() : servers.courier_of_a());
    } else if (first) {
      servers.kill_a();
      servers.start_a();
    } else {
      servers.kill_b();
      servers.start_b();
    }
  }
  EXPECT_EQ(served, gave);
  EXPECT_EQ(served.size(), static_cast<std::size_t>(parcels));
}

}  // namespace
}  // namespace aqua
