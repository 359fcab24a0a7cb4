// SPDX-License-Identifier: Apache-2.0
#include "coordinator/tls/client_hello.hpp"

#include <gtest/gtest.h>

#include <string>

namespace aqua::coordinator {
namespace {

std::string head(std::size_t length) {
  std::string text = "\x16\x03\x01\x02\x05\x01";
  for (const unsigned shift : {16U, 8U, 0U}) text += static_cast<char>((length >> shift) & 0xff);
  return text;
}

TEST(ClientHello, IsKnownByItsHeadAndNoSooner) {
  const std::string text = head(513);
  ASSERT_EQ(text.size(), kHelloHeadBytes);
  for (std::size_t n = 0; n < text.size(); ++n)
    EXPECT_EQ(greeting_of(text.substr(0, n)), Greeting::unfinished) << n;
  EXPECT_EQ(greeting_of(text), Greeting::hello);
}

TEST(ClientHello, ThatPromisesTooMuchIsNone) {
  EXPECT_EQ(greeting_of(head(kMaxHelloBytes)), Greeting::hello);
  EXPECT_EQ(greeting_of(head(kMaxHelloBytes + 1)), Greeting::other);
  EXPECT_EQ(greeting_of(head(0xffffff)), Greeting::other);
}

TEST(ClientHello, EveryOtherByteWhereItMattersIsToldAtOnce) {
  for (const std::size_t at : {0U, 1U, 5U}) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = head(513);
      if (text[at] == static_cast<char>(byte)) continue;
      text[at] = static_cast<char>(byte);
      EXPECT_EQ(greeting_of(text), Greeting::other) << at << " " << byte;
      EXPECT_EQ(greeting_of(text.substr(0, at + 1)), Greeting::other) << at << " " << byte;
    }
  }
}

TEST(ClientHello, ARequestIsToldByItsFirstByte) {
  EXPECT_EQ(greeting_of("G"), Greeting::other);
}

}  // namespace
}  // namespace aqua::coordinator
