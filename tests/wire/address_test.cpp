// SPDX-License-Identifier: Apache-2.0
#include "wire/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/limits.hpp"

namespace aqua::wire {
namespace {

using ::testing::HasSubstr;

TEST(Address, UnixPathsAndLoopbackHostsAreTaken) {
  for (const char* text :
       {"unix:/run/aqua/coordinator.sock", "127.0.0.1:7070", "127.1.2.3:0", "[::1]:65535"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.ok()) << text << ": " << address.error().message;
    EXPECT_EQ(to_string(*address), text);
  }
  EXPECT_EQ(to_string(*parse_address("localhost:80")), "127.0.0.1:80");
}

TEST(Address, EverythingElseIsRefused) {
  for (const char* text :
       {"", "unix:", "unix:relative", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:1x", ":80", "0.0.0.0:80", "10.0.0.1:80", "[::]:80", "example.com:80",
        "http://127.0.0.1:80", "/run/x"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.error().code, Code::invalid_argument);
  }
}

TEST(Address, HostBeyondThisMachineIsRefusedWithTheReason) {
  EXPECT_THAT(parse_address("0.0.0.0:80").error().message, HasSubstr("host must be localhost"));
}

TEST(Address, AnyNumericHostIsTakenWhereAskedFor) {
  for (const char* text :
       {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "[2001:db8::1]:80", "127.0.0.1:80", "unix:/x"}) {
    const auto address = parse_address(text, Hosts::any);
    ASSERT_TRUE(address.ok()) << text << ": " << address.error().message;
    EXPECT_EQ(to_string(*address), text);
  }
  for (const char* text : {"example.com:80", ":80", "10.0.0.256:80", "[::1:80", "10.0.0.1"})
    EXPECT_FALSE(parse_address(text, Hosts::any).ok()) << text;
}

TEST(Address, PathThatNoSocketCanHaveIsRefusedWithBothLengths) {
  EXPECT_TRUE(parse_address("unix:/" + std::string(kMaxPath - 1, 'p')).ok());
  const auto address = parse_address("unix:/" + std::string(kMaxPath, 'p'));
  ASSERT_FALSE(address.ok());
  EXPECT_EQ(address.error().code, Code::invalid_argument);
  EXPECT_THAT(address.error().message, HasSubstr("108 bytes; a Unix socket's has at most 107"));
}

}  // namespace
}  // namespace aqua::wire
