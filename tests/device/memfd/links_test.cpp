// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/links.hpp"

#include <gtest/gtest.h>

namespace aqua::device {
namespace {

using namespace std::chrono_literals;

constexpr Links::Time kNow{1'000s};

Crossing crossing(const std::vector<CopySegment>& batch, const MappedRegions& regions) {
  Crossing total{};
  for (const CopySegment& segment : batch) add_crossing(total, segment, regions);
  return total;
}

TEST(Links, ACopyTakesItsBytesOverTheRateOfItsLink) {
  Links links({.host = 1'000, .peer = 10'000});
  EXPECT_EQ(links.take({500, 0, 0, 0}, kNow), kNow + 500ms);
  EXPECT_EQ(links.take({0, 0, 500, 0}, kNow), kNow + 50ms);
}

TEST(Links, CopiesOfALinkAndDirectionFollowEachOther) {
  Links links({.host = 1'000, .peer = 1'000});
  EXPECT_EQ(links.take({500, 0, 0, 0}, kNow), kNow + 500ms);
  EXPECT_EQ(links.take({500, 0, 0, 0}, kNow + 100ms), kNow + 1s);
  EXPECT_EQ(links.take({0, 500, 0, 0}, kNow + 100ms), kNow + 600ms) << "the other way";
  EXPECT_EQ(links.take({0, 0, 500, 0}, kNow + 100ms), kNow + 600ms) << "the other link";
  EXPECT_EQ(links.take({500, 0, 0, 0}, kNow + 5s), kNow + 5s + 500ms) << "free by then";
}

TEST(Links, WhatCrossesTwoIsOverWithTheLaterOne) {
  Links links({.host = 1'000, .peer = 10'000});
  EXPECT_EQ(links.take({1'000, 0, 0, 1'000}, kNow), kNow + 1s);
  EXPECT_EQ(links.take({0, 0, 0, 1'000}, kNow), kNow + 200ms);
}

TEST(Links, WithoutARateNothingWaits) {
  Links links({.host = 0, .peer = 1'000});
  EXPECT_TRUE(links.paced());
  EXPECT_EQ(links.take({1'000, 1'000, 0, 0}, kNow), kNow);
  EXPECT_FALSE(Links({}).paced());
}

TEST(Links, BytesCrossTheLinkOfTheMemoryThatIsNotTheDevicesOwn) {
  MappedRegions regions;
  std::byte memory[400];
  std::byte* const own = memory;
  std::byte* const peer = memory + 100;
  std::byte* const host = memory + 200;
  regions.own.add(own, 100);
  regions.others.add(peer, 100);
  EXPECT_EQ(crossing({{own, own + 50, 10}}, regions), (Crossing{}));
  EXPECT_EQ(crossing({{own, host, 10}, {host, own, 20}}, regions), (Crossing{10, 20, 0, 0}));
  EXPECT_EQ(crossing({{own, peer, 10}, {peer, own, 20}}, regions), (Crossing{0, 0, 10, 20}));
  EXPECT_EQ(crossing({{peer, host, 30}}, regions), (Crossing{30, 0, 0, 30}));
}

}  // namespace
}  // namespace aqua::device
