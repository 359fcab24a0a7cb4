// SPDX-License-Identifier: Apache-2.0
#include "base/ids.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <unordered_set>

namespace aqua {
namespace {

static_assert(!std::is_convertible_v<ClientId, DeviceUuid>, "ids of different kinds do not mix");

TEST(Id128, ReadsBackWhatItWrites) {
  const auto id = random_id<struct ClientTag>();
  const std::string text = to_string(id);
  EXPECT_EQ(text.size(), 32U);
  const auto back = parse_id<struct ClientTag>(text);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, id);
}

TEST(Id128, WritesLowerCaseHexInByteOrder) {
  ClientId id;
  id.bytes[0] = 0xab;
  id.bytes[15] = 0x01;
  EXPECT_EQ(to_string(id), "ab000000000000000000000000000001");
}

TEST(Id128, RefusesWhatIsNotExactly32LowerCaseHexDigits) {
  const std::string good(32, 'a');
  for (const std::string& text : {std::string(), good.substr(1), good + "a", "A" + good.substr(1),
                                  "g" + good.substr(1), " " + good.substr(1)}) {
    const auto id = parse_id<struct ClientTag>(text);
    ASSERT_FALSE(id.ok()) << text;
    EXPECT_EQ(id.error().code, Code::invalid_argument);
  }
}

TEST(Id128, RandomIdsDifferAndAreNeverNil) {
  std::unordered_set<ClientId> seen;
  for (int i = 0; i < 1'000; ++i) {
    const auto id = random_id<struct ClientTag>();
    EXPECT_FALSE(id.is_nil());
    EXPECT_TRUE(seen.insert(id).second);
  }
  EXPECT_TRUE(ClientId{}.is_nil());
}

TEST(Secret, IsTheSameOnlyInEveryByte) {
  const auto secret = random_id<struct LeaseTag>();
  EXPECT_TRUE(same_secret(secret, secret));
  for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
    LeaseSecret other = secret;
    other.bytes[i] = static_cast<std::uint8_t>(other.bytes[i] ^ 0x80U);
    EXPECT_FALSE(same_secret(secret, other)) << i;
  }
}

}  // namespace
}  // namespace aqua
