// SPDX-License-Identifier: Apache-2.0
#include "southbound/http_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "southbound/backoff.hpp"

namespace aqua::southbound {
namespace {

using std::chrono::milliseconds;

TEST(ParseReply, TakesStatusAndBody) {
  const auto reply =
      parse_reply("HTTP/1.1 503 Service Unavailable\r\nX: y\r\ncontent-length:  2\r\n\r\n{}");
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->body, "{}");
}

TEST(ParseReply, IgnoresWhatComesAfterTheBody) {
  EXPECT_EQ(parse_reply("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more")->body, "{}");
}

TEST(ParseReply, RefusesWhatIsNotAWholeReply) {
  for (const char* text : {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n{}",
                           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}",
                           "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
                           "HTTP/1.1 abc OK\r\nContent-Length: 2\r\n\r\n{}",
                           "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
                           "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n{}", "garbage\r\n\r\n"}) {
    const auto reply = parse_reply(text);
    ASSERT_FALSE(reply.ok()) << text;
    EXPECT_EQ(reply.error().code, Code::internal);
  }
}

TEST(HttpCall, NobodyListeningIsUnavailableAndNotSent) {
  const wire::Address nowhere{.path = "/tmp/aqua-nobody-listens.sock", .host = {}, .port = 0};
  const auto outcome = http_call(nowhere, {"GET", "/v1/info", {}, {}},
                                 Clock::now() + std::chrono::seconds{10}, nullptr);
  EXPECT_FALSE(outcome.reply);
  EXPECT_EQ(outcome.error.code, Code::unavailable);
  EXPECT_FALSE(outcome.sent);
}

TEST(Backoff, DoublesItsBoundUpToTheMaximumAndStartsAgain) {
  Backoff backoff(milliseconds{10}, milliseconds{80});
  for (const int bound : {10, 20, 40, 80, 80, 80}) {
    const auto wait = backoff.next();
    EXPECT_GE(wait, milliseconds{1});
    EXPECT_LE(wait, milliseconds{bound});
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds{10});
}

TEST(Backoff, NonsenseBoundsBecomeAMillisecond) {
  Backoff backoff(milliseconds{0}, milliseconds{-5});
  EXPECT_EQ(backoff.next(), milliseconds{1});
}

}  // namespace
}  // namespace aqua::southbound
