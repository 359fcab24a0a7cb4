// SPDX-License-Identifier: Apache-2.0
#include "device/share_handle.hpp"

#include "tests/device/contract.hpp"

namespace aqua::device {
namespace {

DeviceUuid server(std::uint8_t number) {
  DeviceUuid id;
  id.bytes[0] = number;
  return id;
}

ShareOffer offer(std::uint8_t number, bool posix_fd, bool fabric, std::string domain = "rack") {
  return {server(number), posix_fd, fabric, std::move(domain)};
}

TEST(Negotiation, InsideAServerADescriptorWins) {
  EXPECT_EQ(negotiate(offer(1, true, true), offer(1, true, true)).value(), HandleType::posix_fd);
  EXPECT_EQ(negotiate(offer(1, true, false), offer(1, true, true)).value(), HandleType::posix_fd);
}

TEST(Negotiation, BetweenServersOnlyTheFabricReaches) {
  EXPECT_EQ(negotiate(offer(1, true, true), offer(2, true, true)).value(), HandleType::fabric);
  EXPECT_CODE(Code::failed_precondition, negotiate(offer(1, true, false), offer(2, true, true)));
  EXPECT_CODE(Code::failed_precondition, negotiate(offer(1, true, true), offer(2, true, false)));
}

TEST(Negotiation, WhereOneSideHasNoDescriptorsTheFabricServesInsideAServerToo) {
  EXPECT_EQ(negotiate(offer(1, false, true), offer(1, true, true)).value(), HandleType::fabric);
  EXPECT_CODE(Code::failed_precondition, negotiate(offer(1, false, false), offer(1, true, true)));
}

TEST(Negotiation, AFabricEndsWithItsDomain) {
  EXPECT_CODE(Code::failed_precondition,
              negotiate(offer(1, true, true, "a"), offer(2, true, true, "b")));
  EXPECT_CODE(Code::failed_precondition,
              negotiate(offer(1, true, true, ""), offer(2, true, true, "")));
}

TEST(FabricHandle, ComesBackFromItsTextForm) {
  FabricHandle handle{};
  for (std::size_t i = 0; i < handle.size(); ++i) handle[i] = static_cast<std::byte>(7 * i + 3);
  const std::string text = encode(handle);
  EXPECT_EQ(text.size(), 128U);
  EXPECT_EQ(text.substr(0, 6), "030a11");
  EXPECT_EQ(decode_fabric(text).value(), handle);
}

TEST(FabricHandle, WhatIsNoTextFormIsRefused) {
  const std::string text = encode({});
  EXPECT_CODE(Code::invalid_argument, decode_fabric(""));
  EXPECT_CODE(Code::invalid_argument, decode_fabric(text + "0"));
  EXPECT_CODE(Code::invalid_argument, decode_fabric(text.substr(1)));
  for (const char c : {'g', 'A', ' ', '\0'}) {
    std::string bad = text;
    bad[127] = c;
    EXPECT_CODE(Code::invalid_argument, decode_fabric(bad));
  }
}

}  // namespace
}  // namespace aqua::device
