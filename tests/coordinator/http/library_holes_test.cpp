// SPDX-License-Identifier: Apache-2.0
// Holes that an HTTP library had (cpp-httplib 0.11.4), each tried on a real daemon over a raw
// socket. docs/operate/http.md lists them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/raw_http.hpp"
#include "tests/coordinator/raw_session.hpp"

namespace aqua::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr long kMuchKib = 32 << 10;  // more memory than any refusal needs

struct LibraryHoles : ::testing::Test, RawHttp {
  RawSession session{daemon.address(), daemon.lifeline()};
  const std::string proof = "Aqua-Session: " + to_string(session.lifeline.welcome.secret) + "\r\n";
  const std::string post =
      "POST /v1/leases HTTP/1.1\r\nHost: aqua\r\n" + proof + "Content-Type: application/json\r\n";
};

TEST_F(LibraryHoles, ChunkedBodyPastTheLimitIsRefusedUnread) {  // CVE-2025-46728
  const long before = status_number("VmHWM");
  const UniqueFd fd = connect();
  send(fd, post + "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "100000\r\n" + std::string(1 << 20, 'x') + "\r\n";
  for (int i = 0; i < 128; ++i) send(fd, chunk);
  EXPECT_THAT(receive(fd), HasSubstr("HTTP/1.1 411"));
  EXPECT_LT(status_number("VmHWM") - before, kMuchKib);
}

TEST_F(LibraryHoles, HeadersWithoutNumberAreRefused) {  // CVE-2025-52887
  std::string many = "GET /healthz HTTP/1.1\r\n";
  for (int i = 0; i < 1000; ++i) many += "a" + std::to_string(i) + ": b\r\n";
  EXPECT_THAT(round_trip(many + "\r\n"), HasSubstr("HTTP/1.1 431"));
  const long before = status_number("VmHWM");
  const UniqueFd fd = connect();
  send(fd, "GET /healthz HTTP/1.1\r\n");
  for (int i = 0; i < 100; ++i) send(fd, many);  // and without end
  EXPECT_THAT(receive(fd), HasSubstr("HTTP/1.1 431"));
  EXPECT_LT(status_number("VmHWM") - before, kMuchKib);
}

TEST_F(LibraryHoles, HeaderNamedLikeAnAddressShadowsNothing) {  // CVE-2025-66570
  for (const char* name : {"REMOTE_ADDR", "REMOTE_PORT", "LOCAL_ADDR", "LOCAL_PORT"}) {
    const std::string header = std::string(name) + ": 127.0.0.1\r\n";
    EXPECT_THAT(round_trip("GET /v1/clients/self HTTP/1.1\r\n" + header + "\r\n"),
                HasSubstr("HTTP/1.1 401"));
    const std::string reply = round_trip("GET /healthz HTTP/1.1\r\n" + header + "\r\n");
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(reply, Not(HasSubstr(name)));
  }
}

// The handler that throws is in routes_test.cpp; here is all that a stranger can try.
TEST_F(LibraryHoles, NoReplyTellsAnException) {  // CVE-2026-28434
  for (const std::string& text :
       {std::string("GET /v1/watch?after=%ZZ HTTP/1.1\r\n") + proof + "\r\n",
        std::string("GET /v1/reclaims/99999999999999999999999 HTTP/1.1\r\n") + proof + "\r\n",
        std::string("GET /healthz HTTP/1.1\r\nRange: bytes=9-1\r\n\r\n"),
        std::string("DELETE /v1/pairs/x HTTP/1.1\r\n\r\n"),
        post + "Content-Length: 3\r\n\r\n\xff\xfe{"}) {
    const std::string reply = round_trip(text);
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 4"));
    EXPECT_THAT(reply, Not(HasSubstr("EXCEPTION_WHAT")));
  }
}

TEST_F(LibraryHoles, LineBreaksInHeadersAndTargetsMakeNoHeader) {  // CVE-2026-21428
  for (const std::string& inside :
       {std::string("a%0d%0aInjected: 1"), std::string("a%0D%0AInjected:%201")}) {
    const std::string reply = round_trip("GET /healthz HTTP/1.1\r\nX: " + inside + "\r\n\r\n");
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(reply, Not(HasSubstr("Injected")));
  }
  for (const char* target : {"/%0d%0aInjected:1", "/v1/watch?after=%0d%0aInjected:1"}) {
    const std::string reply =
        round_trip(std::string("GET ") + target + " HTTP/1.1\r\n" + proof + "\r\n");
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 4"));
    EXPECT_THAT(reply, Not(HasSubstr("\nInjected")));
  }
  for (const char* broken : {"X: a\rInjected: 1", "X: a\nInjected: 1", "X: a\r\n Injected: 1"}) {
    const std::string reply =
        round_trip(std::string("GET /healthz HTTP/1.1\r\n") + broken + "\r\n\r\n");
    EXPECT_THAT(reply, HasSubstr("HTTP/1.1 400"));
    EXPECT_THAT(reply, Not(HasSubstr("\nInjected")));
  }
}

TEST_F(LibraryHoles, CompressedBodyIsNeverUnpacked) {  // CVE-2026-22776
  // The first 64 bytes of a gzip stream that unpacks to zeros; the rest is more of the same.
  const std::string start("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xec\xc1\x01\x01\x00\x00", 16);
  const std::string bomb = start + std::string(1 << 19, '\0');
  const long before = status_number("VmHWM");
  const std::string length = "Content-Length: " + std::to_string(bomb.size()) + "\r\n";
  EXPECT_THAT(round_trip(post + "Content-Encoding: gzip\r\n" + length + "\r\n" + bomb),
              HasSubstr("HTTP/1.1 415"));
  // And where it is not called by its name it is just not JSON.
  EXPECT_THAT(round_trip(post + length + "\r\n" + bomb), HasSubstr("HTTP/1.1 400"));
  EXPECT_LT(status_number("VmHWM") - before, kMuchKib);
}

}  // namespace
}  // namespace aqua::testing
