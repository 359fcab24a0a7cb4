// SPDX-License-Identifier: Apache-2.0
// What a connection may send of a head, however its lines end.
#include "tools/router/serve/fenced_stream.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "base/unique_fd.hpp"

namespace aqua::router {
namespace {

// What the library gets of `sent`, until a fence or the end of it.
std::string passed(const std::string& sent, const FenceLimits& limits) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd client(ends[0]), server(ends[1]);
  EXPECT_EQ(::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(sent.size()));
  ::shutdown(client.get(), SHUT_WR);
  FencedStream stream(server.get(), limits);
  EXPECT_TRUE(stream.await_request());
  std::string text;
  char buffer[64];
  for (ssize_t n; (n = stream.read(buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

constexpr FenceLimits kLimits{.head_bytes = 200, .body_bytes = 5000};

TEST(FencedStream, PassesAHeadAndItsBody) {
  const std::string request =
      "POST / HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(2000, 'x') + "\n\r\n\n";
  EXPECT_EQ(passed(request, kLimits), request);
}

// The library goes on reading headers behind each of these.
TEST(FencedStream, AHeadEndsWhereTheLibrarySeesItsEnd) {
  std::string headers;
  while (headers.size() < 3000) headers += "a: b\r\n";
  for (const char* end : {"\n\n", "\r\n\n", "\n\r\n", "\r\n\r\r\n", "\r\n \r\n", "\n", "\r\r\n"}) {
    const std::string sent = std::string("GET / HTTP/1.1\r\nc: d") + end + headers;
    EXPECT_LE(passed(sent, kLimits).size(), kLimits.head_bytes) << ::testing::PrintToString(end);
  }
}

TEST(FencedStream, ABodyHasABound) {
  const std::string head = "POST / HTTP/1.1\r\n\r\n";
  const std::string text = passed(head + std::string(9000, 'x'), kLimits);
  EXPECT_LE(text.size(), head.size() + kLimits.body_bytes);
}

}  // namespace
}  // namespace aqua::router
