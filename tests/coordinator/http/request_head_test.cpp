// SPDX-License-Identifier: Apache-2.0
// Heads of requests, read strictly.
#include "coordinator/http/request_head.hpp"

#include <gtest/gtest.h>

namespace aqua::coordinator {
namespace {

int refused(const std::string& text, const HeadLimits& limits = {}) {
  RequestHead head;
  const auto refusal = parse_head(text, limits, head);
  return refusal ? refusal->status : 0;
}

TEST(RequestHead, IsTakenApart) {
  RequestHead head;
  ASSERT_FALSE(parse_head(
      "GET /v1/watch?after=1 HTTP/1.1\r\nHost: a\r\nX-Y:  b c \r\nhost: d\r\n\r\n", {}, head));
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path, "/v1/watch");
  EXPECT_EQ(head.query, "after=1");
  EXPECT_EQ(head.count("host"), 2U);
  EXPECT_EQ(head.value("x-y"), "b c");
  EXPECT_EQ(head.value("none"), "");
}

TEST(RequestHead, WhatIsNotStrictlyOneIsRefused) {
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\nA: b\n\n"),
        std::string("GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nA : b\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\n: b\r\n\r\n"), std::string("GET / HTTP/1.1\r\nA\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 24), std::string("GET  / HTTP/1.1\r\n\r\n"),
        std::string("GET /\r\n\r\n"), std::string("\r\n\r\n"),
        std::string("GET / x HTTP/1.1\r\n\r\n"), std::string("G(T / HTTP/1.1\r\n\r\n"),
        std::string("GET / HTTQ/1.1\r\n\r\n"), std::string("GET / HTTP/1.1\r\nA: b\r\n")}) {
    EXPECT_EQ(refused(text), 400) << text;
  }
  EXPECT_EQ(refused("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(refused("GET /" + std::string(512, 'a') + " HTTP/1.1\r\n\r\n"), 414);
}

TEST(RequestHead, EndIsFoundWhereverTheReadsSplitIt) {
  const std::string text = "GET / HTTP/1.1\r\nA: b\r\n\r\nbody";
  EXPECT_EQ(end_of_head(text), text.size() - 4);
  for (std::size_t size = 0; size < text.size() - 4; ++size)
    EXPECT_FALSE(end_of_head(text.substr(0, size))) << size;
  EXPECT_EQ(end_of_head("a\n\nb"), 3U);
}

TEST(RequestHead, QueryIsTakenAsItWasSent) {
  EXPECT_EQ(query_value("after=1&timeout_ms=20", "after"), "1");
  EXPECT_EQ(query_value("after=1&timeout_ms=20", "timeout_ms"), "20");
  EXPECT_EQ(query_value("a=1&a=2", "a"), "1");
  EXPECT_EQ(query_value("a=%31", "a"), "%31");
  EXPECT_EQ(query_value("a", "a"), "");
  EXPECT_EQ(query_value("a=b=c", "a"), "b=c");
  for (const char* query : {"", "&", "b=a", "aa=1", "=1", "&&b"})
    EXPECT_EQ(query_value(query, "a"), std::nullopt) << query;
}

}  // namespace
}  // namespace aqua::coordinator
