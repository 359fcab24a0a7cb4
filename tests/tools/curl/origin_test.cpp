// SPDX-License-Identifier: Apache-2.0
// What a URL may be where only somebody's place is asked for.
#include "tools/curl/origin.hpp"

#include <gtest/gtest.h>

namespace aqua::curl {
namespace {

TEST(Origin, IsASchemeAHostAndAPort) {
  const auto by_name = parse_origin("https://gpu7.example:7071");
  ASSERT_TRUE(by_name.ok());
  EXPECT_EQ(by_name->scheme, "https");
  EXPECT_EQ(by_name->host, "gpu7.example");
  EXPECT_EQ(by_name->port, 7071);
  EXPECT_EQ(parse_origin("http://[::1]:1")->host, "[::1]");
}

TEST(Origin, IsWrittenAsItWasRead) {
  for (const char* text : {"http://10.0.0.1:80", "https://[fe80::1]:65535", "https://a-b.c:2379"})
    EXPECT_EQ(to_string(*parse_origin(text)), text);
}

TEST(Origin, NothingElseIs) {
  for (const char* wrong :
       {"", "https://", "https://host", "https://:1", "https://host:", "https://host:0",
        "https://host:65536", "https://host:1/", "https://user@host:1", "https://a/b:1",
        "https://::1:1", "ftp://host:1", "host:1", "https:host:1", "https://a b:1",
        "https://host:1 ", "https://host:+1", "https://a\tb:1", "https://g\xc3\xa4.example:1"}) {
    const auto parsed = parse_origin(wrong);
    ASSERT_FALSE(parsed.ok()) << wrong;
    EXPECT_EQ(parsed.error().code, Code::invalid_argument) << wrong;
  }
  EXPECT_TRUE(parse_origin("https://" + std::string(253, 'a') + ":1").ok());
  EXPECT_FALSE(parse_origin("https://" + std::string(254, 'a') + ":1").ok());
}

}  // namespace
}  // namespace aqua::curl
