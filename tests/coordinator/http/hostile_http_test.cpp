// SPDX-License-Identifier: Apache-2.0
// Requests that no friend sends: each is refused with its own code, and the daemon goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <vector>

#include "tests/coordinator/daemon_process.hpp"
#include "tests/coordinator/raw_http.hpp"
#include "tests/coordinator/raw_session.hpp"
#include "tests/coordinator/token_file.hpp"
#include "tests/southbound/peers.hpp"
#include "tools/admin/operator.hpp"
#include "wire/limits.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct HostileHttp : ::testing::Test, RawHttp {
  ~HostileHttp() override { EXPECT_TRUE(admin::fetch_info(daemon.address()).ok()) << daemon.log(); }

  std::string post(const std::string& headers, const std::string& body) const {
    return round_trip("POST /v1/leases HTTP/1.1\r\nHost: aqua\r\nAqua-Session: " +
                      to_string(session.lifeline.welcome.secret) + "\r\n" + headers + "\r\n" +
                      body);
  }

  RawSession session{daemon.address(), daemon.lifeline()};
  const std::string json = "Content-Type: application/json\r\n";
};

TEST_F(HostileHttp, MalformedBodiesAreInvalidArguments) {
  ASSERT_EQ(session.join().status, 200);
  for (const char* body :
       {"{", "[]", "null", "{\"bytes\":-1,\"exit_bytes\":0}", "{\"bytes\":1}", "\xff\xfe"}) {
    const auto reply = session.call("POST", "/v1/leases", body);
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_EQ(code_of(reply), Code::invalid_argument) << body;
  }
}

TEST_F(HostileHttp, ABodyThatWaitsToBeAskedForIsAskedFor) {
  ASSERT_EQ(session.join().status, 200);
  const UniqueFd fd = connect();
  send(fd, "POST /v1/leases HTTP/1.1\r\nHost: aqua\r\nExpect: 100-Continue\r\nAqua-Session: " +
               to_string(session.lifeline.welcome.secret) + "\r\n" + json +
               "Content-Length: 2\r\n\r\n");
  const std::string asked = "HTTP/1.1 100 Continue\r\n\r\n";
  std::string got(asked.size(), '\0');
  ASSERT_EQ(::recv(fd.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(asked.size()));
  EXPECT_EQ(got, asked);
  send(fd, "{}");
  EXPECT_THAT(receive(fd), HasSubstr(" 400 "));
}

TEST_F(HostileHttp, DeepBodyIsRefusedBeforeItIsParsed) {
  const auto reply = session.call("POST", "/v1/leases", std::string(wire::kMaxRequestBytes, '['));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(code_of(reply), Code::invalid_argument);
}

TEST_F(HostileHttp, BodyOverTheLimitIsRefusedUnread) {
  const auto reply =
      session.call("POST", "/v1/leases", std::string(wire::kMaxRequestBytes + 1, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(code_of(reply), Code::invalid_argument);
  for (const char* length : {"99999999999", "18446744073709551616"}) {
    EXPECT_THAT(post(json + "Content-Length: " + length + "\r\n", ""), HasSubstr("HTTP/1.1 413"));
  }
}

TEST_F(HostileHttp, ChunkedBodyIsRefusedWhateverItsSize) {
  const std::string chunk = "100000\r\n" + std::string(0x100000, 'x') + "\r\n";
  EXPECT_THAT(post(json + "Transfer-Encoding: chunked\r\n", chunk + chunk + chunk + "0\r\n\r\n"),
              HasSubstr("HTTP/1.1 411"));
  EXPECT_THAT(post(json + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "{}"),
              HasSubstr("HTTP/1.1 411"));
}

TEST_F(HostileHttp, CompressedBodyIsRefused) {
  for (const char* encoding : {"gzip", "br", "deflate"}) {
    EXPECT_THAT(post(json + "Content-Length: 2\r\nContent-Encoding: " + encoding + "\r\n", "{}"),
                HasSubstr("HTTP/1.1 415"));
  }
}

TEST_F(HostileHttp, LengthThatIsNoLengthIsRefused) {
  for (const char* length : {"-1", "0x10", "1 1", "+1", "abc"}) {
    EXPECT_THAT(post(json + "Content-Length: " + length + "\r\n", "{}"), HasSubstr("HTTP/1.1 400"))
        << length;
  }
  EXPECT_THAT(post(json + "Content-Length: 2\r\nContent-Length: 3\r\n", "{}x"),
              HasSubstr("HTTP/1.1 400"));
  EXPECT_THAT(post(json, ""), HasSubstr("HTTP/1.1 411"));
}

TEST_F(HostileHttp, BodyThatIsNotJsonByTypeIsRefused) {
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x", "application/jsonx"}) {
    EXPECT_THAT(post(std::string("Content-Type: ") + type + "\r\nContent-Length: 2\r\n", "{}"),
                HasSubstr("HTTP/1.1 415"))
        << type;
  }
}

TEST_F(HostileHttp, HeadersWithoutEndAreCutOff) {
  std::string flood = "GET /v1/info HTTP/1.1\r\n";
  for (int i = 0; i < 100'000; ++i) flood += "X-" + std::to_string(i) + ": y\r\n";
  const std::string reply = round_trip(flood);
  EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 4")) << reply;
}

TEST_F(HostileHttp, LongTargetsAreRefused) {
  EXPECT_THAT(
      round_trip("GET /v1/reclaims/" + std::string(7000, '1') + " HTTP/1.1\r\nHost: aqua\r\n\r\n"),
      HasSubstr("HTTP/1.1 414"));
  const std::string reply =
      round_trip("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: aqua\r\n\r\n");
  EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 4")) << reply;
}

TEST_F(HostileHttp, GarbageIsNotAnswered200) {
  for (const std::string& text :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("\0\0\0\0\r\n\r\n", 8), std::string(5000, '\xff') + "\r\n\r\n",
        std::string("GET http://x:1/ HTTP/1.1\r\nRange: bytes=0-\r\n\r\n")}) {
    EXPECT_THAT(round_trip(text), Not(HasSubstr(" 200 ")));
  }
}

// Over TCP nothing but a token says who is calling: what is refused without a header is refused
// with it, and a reader stays a reader.
TEST(HostileHttpOverTcp, HeaderCannotChangeWhoIsCalling) {
  const RawHttp http({"--listen", "127.0.0.1:0"});
  const auto status = [&](const std::string& line, const std::string& headers) {
    return http.round_trip(line + " HTTP/1.1\r\n" + headers + "\r\n").substr(0, 12);
  };
  const std::string reader =
      "Authorization: Bearer " + token_command(http.daemon, {"issue", "read-only", "x"}) + "\r\n";
  for (const char* header :
       {"", "REMOTE_ADDR: 127.0.0.1\r\n", "X-Forwarded-For: ::1\r\n", "X-Real-IP: 127.0.0.1\r\n",
        "Forwarded: for=127.0.0.1;by=unix\r\n", "Remote-User: root\r\n", "X-Uid: 0\r\n",
        "Host: localhost\r\n", "Proxy-Authorization: Basic cm9vdDo=\r\n"}) {
    EXPECT_EQ(status("GET /v1/state", header), "HTTP/1.1 401") << header;
    EXPECT_EQ(status("GET /v1/state", header + reader), "HTTP/1.1 200") << header;
    EXPECT_EQ(status("DELETE /v1/drains/" + std::string(32, 'a'), header + reader), "HTTP/1.1 403")
        << header;
  }
}

TEST_F(HostileHttp, SlowClientsHoldUpNobodyAndAreCutOff) {
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 64; ++i) {
    slow.push_back(connect());
    send(slow.back(), "POST /v1/leases HTTP/1.1\r\nContent-Le");
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(session.join().status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{4});  // they have five
  // A byte now and then does not put the end off.
  for (;;) {
    if (::send(slow.back().get(), "x", 1, MSG_NOSIGNAL) < 0) break;
    pollfd poll_fd{slow.back().get(), POLLIN, 0};
    if (::poll(&poll_fd, 1, 100) > 0) break;
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{60});
  }
  for (const UniqueFd& fd : slow) EXPECT_THAT(receive(fd), Not(HasSubstr(" 200 ")));
}

TEST_F(HostileHttp, DeleteWithoutALengthIsAnsweredAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(round_trip("DELETE /v1/clients/self HTTP/1.1\r\nHost: aqua\r\n\r\n"),
              HasSubstr("HTTP/1.1 401"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds{4});
}

}  // namespace
}  // namespace aqua::testing
