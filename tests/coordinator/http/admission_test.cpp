// SPDX-License-Identifier: Apache-2.0
// How the daemon's places are shared among those who ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/shares.hpp"
#include "tests/coordinator/in_memory.hpp"

namespace aqua::testing {
namespace {

using coordinator::AdmissionLimits;
using ::testing::HasSubstr;

// A rate that no test reaches, and three requests a second at the most.
constexpr coordinator::QuotaLimits kMuch{.rate = 1'000'000, .concurrent = 64};
constexpr coordinator::QuotaLimits kThree{.rate = 3, .concurrent = 64};

struct Shares : ::testing::Test {
  static AdmissionLimits limits(const coordinator::QuotaLimits& process,
                                const coordinator::QuotaLimits& user) {
    AdmissionLimits limits;
    limits.quota = kMuch;
    limits.process = process;
    limits.user = user;
    return limits;
  }
  // The status of a request of another client of that process and user, each time.
  static int ask(InMemory& http, std::int64_t pid, std::uint32_t uid,
                 const std::string& method = "GET",
                 const std::string& target = "/v1/clients/self") {
    const auto session = http.sessions.open(random_id<ClientTag>(), pid, uid);
    const coordinator::Peer peer{true, uid, coordinator::Role::engine};
    return status_of_reply(
        http.ask(method, target, "Aqua-Session: " + to_string(session.secret) + "\r\n", "", peer));
  }
  // Whether one of many is refused.
  template <typename Ask>
  static bool is_limited(Ask&& next) {
    for (int i = 1; i <= 1000; ++i) {
      if (next(i) == 429) return true;
    }
    return false;
  }
};

TEST_F(Shares, AProcessHasOneHoweverManyClientsItCallsItself) {
  InMemory http(limits(kThree, kMuch));
  EXPECT_TRUE(is_limited([&](int) { return ask(http, 1, 1000); }));
  EXPECT_NE(ask(http, 2, 1000), 429);
}

TEST_F(Shares, AUserHasOneHoweverManyProcessesItRuns) {
  InMemory http(limits(kMuch, kThree));
  EXPECT_TRUE(is_limited([&](int i) { return ask(http, i, 1000); }));
  EXPECT_NE(ask(http, 1, 1001), 429);
}

TEST_F(Shares, WatchesOfAProcessAndOfAUserHaveTheirsAndOtherRequestsAnother) {
  const std::string watch = "/v1/watch?timeout_ms=0";
  AdmissionLimits of_process = limits(kMuch, kMuch);
  of_process.watches_of_process = kThree;
  of_process.watches_of_user = kMuch;
  InMemory by_process(of_process);
  EXPECT_TRUE(is_limited([&](int) { return ask(by_process, 1, 1000, "GET", watch); }));
  EXPECT_NE(ask(by_process, 1, 1000), 429);
  EXPECT_NE(ask(by_process, 2, 1000, "GET", watch), 429);
  AdmissionLimits of_user = limits(kMuch, kMuch);
  of_user.watches_of_process = kMuch;
  of_user.watches_of_user = kThree;
  InMemory by_user(of_user);
  EXPECT_TRUE(is_limited([&](int i) { return ask(by_user, i, 1000, "GET", watch); }));
  EXPECT_NE(ask(by_user, 1, 1000), 429);
  EXPECT_NE(ask(by_user, 1, 1001, "GET", watch), 429);
}

TEST_F(Shares, RenewalsAndHealthHaveRoomWhateverElseIsAsked) {
  InMemory http(limits(kThree, kThree));
  EXPECT_TRUE(is_limited([&](int) { return ask(http, 1, 1000); }));
  EXPECT_NE(ask(http, 1, 1000, "POST", "/v1/clients/self/renew"), 429);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(status_of_reply(http.ask("GET", "/healthz", "", "", InMemory::kOverTcp)), 200);
    EXPECT_EQ(status_of_reply(http.ask("GET", "/readyz", "", "", InMemory::kOverTcp)), 200);
  }
}

TEST_F(Shares, OfOneRoomOthersHaveALeastPart) {
  for (const unsigned places : {1U, 2U, 3U, 16U, 640U}) {
    EXPECT_GE(share_of_process(places), 1U);
    EXPECT_LE(share_of_process(places), share_of_user(places));
    EXPECT_LE(share_of_user(places), places);
  }
  EXPECT_EQ(share_of_process(640), 320U);
  EXPECT_EQ(share_of_user(640), 480U);
}

TEST(Bodies, AreTakenByWhatWantsOneAlone) {
  InMemory http;
  for (const auto& [method, target] : {std::pair{"GET", "/healthz"},
                                       {"GET", "/readyz"},
                                       {"GET", "/v1/state"},
                                       {"POST", "/v1/clients/self/renew"}}) {
    const std::string head =
        std::string(method) + " " + target + " HTTP/1.1\r\nContent-Type: application/json\r\n" +
        http.session(random_id<ClientTag>()) + "Content-Length: 1048576\r\n\r\n";
    EXPECT_EQ(status_of_reply(http.answer(head)), 413) << target << ": no byte of it is waited for";
  }
}

}  // namespace
}  // namespace aqua::testing
