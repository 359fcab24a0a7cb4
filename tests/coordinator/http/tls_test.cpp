// SPDX-License-Identifier: Apache-2.0
// TLS on the daemon's TCP port, as clients of all kinds meet it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <thread>
#include <vector>

#include "tests/coordinator/http/tls_daemon.hpp"
#include "tests/coordinator/token_file.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Tls : Certificate, ::testing::Test {
  [[nodiscard]] TlsClient client() const { return {https.connect(), path}; }
  // The reply to a request without a body, or to one with `more` headers and a body.
  [[nodiscard]] std::string ask(const std::string& line, const std::string& more = "\r\n") const {
    TlsClient tls = client();
    EXPECT_TRUE(tls.shake_hands());
    tls.send(line + " HTTP/1.1\r\n" + more);
    bool whole = false;
    std::string reply = tls.receive(&whole);
    EXPECT_TRUE(whole);
    return reply;
  }
  [[nodiscard]] std::string ask_plainly(std::string_view text) const {
    const UniqueFd fd = https.connect();
    RawHttp::send(fd, text);
    return RawHttp::receive(fd);
  }
  TlsDaemon https{arguments()};
  RawHttp& http = https.unix_socket;
};

std::string bearer(const std::string& token) {
  return "Authorization: Bearer " + token + "\r\n";
}

std::string body_of(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

TEST_F(Tls, ATokenOpensAndNothingElseDoes) {
  const TokenFile token(http.daemon, "read-only");
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /v1/state", bearer(token.text()) + "\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask("GET /v1/state"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET /v1/state", bearer("aqua_" + std::string(64, '0')) + "\r\n"),
              StartsWith("HTTP/1.1 401"));
}

TEST_F(Tls, TheUnixSocketIsAsItWas) {
  EXPECT_THAT(http.round_trip("GET /v1/state HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, OldVersionsAreRefused) {
  for (const auto& [version, taken] :
       {std::pair{TLS1_3_VERSION, true}, {TLS1_2_VERSION, true}, {TLS1_1_VERSION, false}}) {
    TlsClient tls(https.connect(), path, version);
    EXPECT_EQ(tls.shake_hands(), taken) << tls.version();
    if (!taken) continue;
    tls.send("GET /readyz HTTP/1.1\r\n\r\n");
    EXPECT_THAT(tls.receive(), StartsWith("HTTP/1.1 200")) << tls.version();
  }
}

TEST_F(Tls, WhoDoesNotTrustTheCertificateHangsUpAndTheDaemonGoesOn) {
  const Certificate other;
  TlsClient doubting(https.connect(), other.path);
  EXPECT_FALSE(doubting.shake_hands());
  EXPECT_NE(doubting.verdict(), X509_V_OK);
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, WhoSpeaksPlainlyIsToldPlainly) {
  EXPECT_THAT(ask_plainly("GET /healthz HTTP/1.1\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("TLS is spoken here")));
  // Also a handshake that promises more than any client's.
  EXPECT_THAT(ask_plainly(std::string("\x16\x03\x01\x40\x00\x01\x01\x00\x00", 9)),
              StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(ask_plainly(client_hello().substr(0, 9) + std::string(4096, '\xff')).find("HTTP"),
            std::string::npos);
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, HandshakesThatStopHoldNoThreadAndEndInTime) {
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
  const long threads = http.status_number("Threads");
  const std::string hello = client_hello();
  std::vector<UniqueFd> stopped;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{9},
                                  hello.size() - 1, hello.size()}) {
    for (int i = 0; i < 20; ++i) {
      stopped.push_back(https.connect());
      RawHttp::send(stopped.back(), std::string_view(hello).substr(0, bytes));
    }
  }
  TlsClient mute = client();
  ASSERT_TRUE(mute.shake_hands());
  mute.send("GET /heal");
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_LE(http.status_number("Threads"), threads);
  for (const UniqueFd& fd : stopped)
    EXPECT_EQ(RawHttp::receive(fd).find("HTTP"), std::string::npos);
  // Who has begun to ask and can be answered is.
  EXPECT_THAT(mute.receive(), StartsWith("HTTP/1.1 408"));
}

TEST_F(Tls, AHelloInPiecesIsAHello) {
  const std::string hello = client_hello();
  const UniqueFd fd = https.connect();
  for (const char byte : hello) RawHttp::send(fd, {&byte, 1});
  char record = 0;
  ASSERT_EQ(::recv(fd.get(), &record, 1, 0), 1);
  EXPECT_EQ(record, 22);  // a handshake's
}

TEST_F(Tls, AHeadInPiecesIsAHead) {
  TlsClient tls = client();
  ASSERT_TRUE(tls.shake_hands());
  for (const char byte : std::string_view("GET /healthz HTTP/1.1\r\n\r\n")) tls.send({&byte, 1});
  EXPECT_THAT(tls.receive(), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, LongBodiesAndRepliesArriveWhole) {
  const TokenFile token(http.daemon, "operator");
  // What stands behind a megabyte of it is understood.
  const std::string body = R"({"ignored": ")" + std::string(1'000'000, 'x') +
                           R"(", "producer": ")" + std::string(32, 'a') + R"(", "consumer": ")" +
                           std::string(32, 'b') + R"("})";
  EXPECT_THAT(ask("PUT /v1/pairs", bearer(token.text()) + "Content-Type: application/json\r\n" +
                                       "Content-Length: " + std::to_string(body.size()) +
                                       "\r\n\r\n" + body),
              HasSubstr("no client " + std::string(32, 'a')));
  const std::string document = body_of(ask("GET /openapi.json", bearer(token.text()) + "\r\n"));
  EXPECT_GT(document.size(), 65'536U);
  EXPECT_EQ(document, body_of(http.round_trip("GET /openapi.json HTTP/1.1\r\n\r\n")));
}

TEST_F(Tls, AHundredConnectionsOfTenClientsAtOnceAreAllServed) {
  std::atomic<int> served = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 10; ++i) {
    clients.emplace_back([&] {
      for (int j = 0; j < 10; ++j) served += ask("GET /readyz").starts_with("HTTP/1.1 200") ? 1 : 0;
    });
  }
  for (std::thread& one : clients) one.join();
  EXPECT_EQ(served, 100);
}

TEST_F(Tls, WhoGoesAwayAmidTheReplyHarmsNobody) {
  const TokenFile token(http.daemon, "read-only");
  for (int i = 0; i < 20; ++i) {
    TlsClient tls = client();
    ASSERT_TRUE(tls.shake_hands());
    tls.send("GET /openapi.json HTTP/1.1\r\n" + bearer(token.text()) + "\r\n");
    const linger now{1, 0};  // by a reset
    ::setsockopt(tls.fd().get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Tls, KeyUpdatesWithoutEndHoldUpNobody) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // the daemon ends them
  std::deque<TlsClient> clients;
  std::vector<std::thread> endless;
  std::atomic<int> updates{0};
  for (int i = 0; i < 4; ++i) {
    TlsClient& one = clients.emplace_back(client());
    ASSERT_TRUE(one.shake_hands());
    endless.emplace_back([&] {
      while (one.update_key()) ++updates;
    });
  }
  while (updates < 4000) std::this_thread::yield();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(ask("GET /healthz"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(http.daemon.stop(), 0);
  for (const TlsClient& one : clients) ::shutdown(one.fd().get(), SHUT_RDWR);
  for (std::thread& one : endless) one.join();
}

TEST_F(Tls, StopsWhileConnectionsAreOpen) {
  TlsClient mute = client();
  ASSERT_TRUE(mute.shake_hands());
  const UniqueFd silent = https.connect();
  EXPECT_EQ(http.daemon.stop(), 0);
  EXPECT_EQ(mute.receive(), "");
}

}  // namespace
}  // namespace aqua::testing
