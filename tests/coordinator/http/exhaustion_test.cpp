// SPDX-License-Identifier: Apache-2.0
// Those who take more than their share of threads or memory, or break off: others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "tests/base/sanitized.hpp"
#include "tests/coordinator/raw_http.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "wire/slabs.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;

TEST(BrokenConnections, AreNotCountedAsLate) {
  RawHttp http;
  const RawSession session(http.daemon.address(), http.daemon.lifeline());
  const std::string metrics = "GET /metrics HTTP/1.1\r\n\r\n";
  UniqueFd broken = http.connect();
  RawHttp::send(
      broken,
      "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
      "Expect: 100-continue\r\nAqua-Session: " +
          to_string(session.lifeline.welcome.secret) + "\r\n\r\n");
  // What has come and was not read makes the end a reset.
  pollfd asked{broken.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&asked, 1, 60'000), 1);
  broken.reset();
  const std::string counted = "route=\"/v1/leases\",status=\"400\"";
  std::string text;
  do {
    text = http.round_trip(metrics);
    ASSERT_EQ(text.find("status=\"408\""), std::string::npos) << text;
  } while (text.find(counted) == std::string::npos);
}

TEST(SlowBodies, OfOneProcessLeaveRoomForRenewalsAndHealth) {
  constexpr std::size_t kSlow = 340;
  RawHttp http({"--max-concurrent", "2"});
  const RawSession honest(http.daemon.address(), http.daemon.lifeline());
  ASSERT_EQ(honest.join().status, 200);
  std::vector<RawSession> sessions;
  for (std::size_t i = 0; i < kSlow; ++i)
    sessions.emplace_back(http.daemon.address(), http.daemon.lifeline());
  std::vector<UniqueFd> slow;
  for (const RawSession& session : sessions) {
    slow.push_back(http.connect());
    RawHttp::send(slow.back(),
                  "POST /v1/clients HTTP/1.1\r\nContent-Type: application/json\r\n"
                  "Content-Length: 1048576\r\nAqua-Session: " +
                      to_string(session.lifeline.welcome.secret) + "\r\n\r\n{");
  }
  // A process has 320 requests at one time; a body is waited for 5 s.
  pollfd refused{slow.back().get(), POLLIN, 0};
  ASSERT_EQ(::poll(&refused, 1, 60'000), 1);
  EXPECT_EQ(honest.call("GET", "/v1/clients/self").status, 429);
  EXPECT_THAT(RawHttp::receive(slow.back()), HasSubstr("HTTP/1.1 429"));
  EXPECT_EQ(honest.call("POST", "/v1/clients/self/renew").status, 200);
  EXPECT_THAT(http.round_trip("GET /healthz HTTP/1.1\r\n\r\n"), HasSubstr("HTTP/1.1 200"));
}

// Requests with a body of 1 MiB each, of which all has come but the last byte; or less, where the
// daemon does not read on.
std::vector<UniqueFd> begin_bodies(const RawHttp& http, const RawSession& session, int count) {
  const std::string body((std::size_t{1} << 20) - 1, ' ');
  std::vector<UniqueFd> many;
  for (int i = 0; i < count; ++i) {
    many.push_back(http.connect());
    const timeval patience{0, 20'000};
    EXPECT_EQ(::setsockopt(many.back().get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience),
              0);
    RawHttp::send(many.back(),
                  "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\n"
                  "Content-Length: 1048576\r\nAqua-Session: " +
                      to_string(session.lifeline.welcome.secret) + "\r\n\r\n");
    RawHttp::send(many.back(), body);
  }
  return many;
}

// 64 MiB are set aside for all; those that would be more are refused before they are late.
TEST(SlowBodies, OfAllTogetherTakeNoMoreThanIsSetAsideForThem) {
  RawHttp http({"--max-concurrent", "4096"});
  const RawSession session(http.daemon.address(), http.daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  const std::vector<UniqueFd> many = begin_bodies(http, session, 80);
  std::size_t refused = 0;
  for (const UniqueFd& fd : many)
    refused += RawHttp::receive(fd).starts_with("HTTP/1.1 503") ? 1U : 0U;
  EXPECT_GT(refused, 0U);
  EXPECT_LE(refused, 32U);  // of 80, where 64 have room
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 200);
}

// Under an address space that has no room left the daemon refuses, and lives.
TEST(Memory, ThatRunsOutEndsRequestsAndNotTheDaemon) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "a sanitizer's shadow has no limit";
#endif
  constexpr rlim_t kRoom = rlim_t{24} << 20;
  RawHttp http({"--max-concurrent", "4096"});
  const RawSession session(http.daemon.address(), http.daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  rlimit limit{};
  ASSERT_EQ(::prlimit(http.daemon.process().pid(), RLIMIT_AS, nullptr, &limit), 0);
  limit.rlim_cur = static_cast<rlim_t>(http.status_number("VmSize")) * 1024 + kRoom;
  ASSERT_EQ(::prlimit(http.daemon.process().pid(), RLIMIT_AS, &limit, nullptr), 0);
  std::size_t refused = 0;
  {
    const std::vector<UniqueFd> many = begin_bodies(http, session, 100);
    for (const UniqueFd& fd : many) {
      pollfd answered{fd.get(), POLLIN, 0};
      if (::poll(&answered, 1, 0) != 1) continue;
      // Late ones, and those whose reply the limit has cut off, count for nothing.
      if (RawHttp::receive(fd).starts_with("HTTP/1.1 503")) ++refused;
    }
  }
  EXPECT_GT(refused, 0U);
  // All have hung up: there is memory again.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  int status = 0;
  while (status != 200 && !HasFailure() && std::chrono::steady_clock::now() < end)
    status = session.call("GET", "/v1/info").status;
  EXPECT_EQ(status, 200);
  EXPECT_EQ(session.call("POST", "/v1/clients/self/renew").status, 200);
  EXPECT_EQ(http.daemon.stop(), 0);
}

// The length of the reply to one request for the state.
std::size_t read_state(const RawHttp& http) {
  const UniqueFd fd = http.connect();
  RawHttp::send(fd, "GET /v1/state HTTP/1.1\r\n\r\n");
  std::vector<char> piece(std::size_t{64} << 10);
  std::size_t read = 0;
  for (ssize_t n = 0; (n = ::recv(fd.get(), piece.data(), piece.size(), 0)) > 0;)
    read += static_cast<std::size_t>(n);
  return read;
}

// The whole state of 65,536 slabs is some 10 MiB of text. Readers that ask together share one, and
// renewals go ahead of them.
TEST(State, OfManySlabsForManyReadersHoldsUpNoRenewalAndKeepsNoMemory) {
#ifdef AQUA_SANITIZED
  GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
  constexpr std::uint32_t kOffers = 16;
  constexpr std::uint32_t kSlabs = 4096;
  constexpr std::size_t kReaders = 64;
  RawHttp http({"--max-concurrent", "128"});
  const RawSession session(http.daemon.address(), http.daemon.lifeline());
  ASSERT_EQ(session.join(/*producer=*/true).status, 200);
  for (std::uint32_t offer = 0; offer < kOffers; ++offer) {
    wire::OfferRequest request;
    for (std::uint32_t i = 0; i < kSlabs; ++i)
      request.slabs.push_back(
          {.index = offer * kSlabs + i, .bytes = 1, .secret = {}, .holder = {}});
    ASSERT_EQ(session.call("POST", "/v1/offers", wire::encode(request)).status, 200);
  }
  const std::size_t length = read_state(http);
  ASSERT_GT(length, std::size_t{kOffers * kSlabs} * 64);
  const long before = http.status_number("VmRSS");
  std::vector<std::future<std::size_t>> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.push_back(std::async(std::launch::async, [&] {
      std::size_t shortest = length;
      for (int round = 0; round < 3; ++round) shortest = std::min(shortest, read_state(http));
      return shortest;
    }));
  }
  std::chrono::steady_clock::duration longest{};
  for (std::future<std::size_t>& reader : readers) {
    do {
      const auto begin = std::chrono::steady_clock::now();
      ASSERT_EQ(session.call("POST", "/v1/clients/self/renew").status, 200);
      longest = std::max(longest, std::chrono::steady_clock::now() - begin);
    } while (reader.wait_for(std::chrono::seconds{0}) != std::future_status::ready);
    EXPECT_GT(reader.get() + 1024, length) << "but for a few digits of times";
  }
  EXPECT_LT(longest, ledger::Limits{}.client_ttl);
  EXPECT_LT(http.status_number("VmHWM") - before, 300 * 1024) << "the readers share few texts";
  EXPECT_LT(http.status_number("VmRSS") - before, 64 * 1024) << "and none of them is kept";
}

TEST(SlowBodies, OfOneCallerAreBoundedAndStrangersGetNone) {
  RawHttp http({"--max-concurrent", "4"});
  const RawSession session(http.daemon.address(), http.daemon.lifeline());
  ASSERT_EQ(session.join().status, 200);
  const std::string head =
      "POST /v1/leases HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 999\r\n";
  // Refused by the head: a body that never comes holds nothing.
  const UniqueFd stranger = http.connect();
  RawHttp::send(stranger, head + "\r\n");
  EXPECT_THAT(RawHttp::receive(stranger), HasSubstr("HTTP/1.1 401"));
  const std::string proof =
      "Aqua-Session: " + to_string(session.lifeline.welcome.secret) + "\r\n\r\n";
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 5; ++i) {
    slow.push_back(http.connect());
    RawHttp::send(slow.back(), head + proof);
  }
  std::size_t limited = 0;
  std::size_t late = 0;
  for (const UniqueFd& fd : slow) {
    const std::string reply = RawHttp::receive(fd);
    limited += reply.starts_with("HTTP/1.1 429") ? 1U : 0U;
    late += reply.starts_with("HTTP/1.1 408") ? 1U : 0U;
  }
  EXPECT_EQ(limited, 1U);
  EXPECT_EQ(late, 4U);
}

}  // namespace
}  // namespace aqua::testing
