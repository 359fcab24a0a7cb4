// SPDX-License-Identifier: Apache-2.0
#include "device/upload_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>

namespace aqua::device {
namespace {

TEST(UploadSlots, PlacesFollowEachOtherAndWrapWhole) {
  UploadSlots slots(1'024);
  EXPECT_EQ(slots.take(1), 0U);
  EXPECT_EQ(slots.take(257), 256U);
  EXPECT_EQ(slots.take(512), std::nullopt) << "256 are left";
  slots.release_oldest();
  EXPECT_EQ(slots.take(512), std::nullopt) << "256 at either end";
  EXPECT_EQ(slots.take(256), 768U);
  EXPECT_EQ(slots.take(256), 0U);
  EXPECT_EQ(slots.take(1), std::nullopt) << "full";
  slots.release_oldest();
  EXPECT_EQ(slots.take(512), 256U);
}

TEST(UploadSlots, AnEmptyRingTakesAsMuchAsItHas) {
  UploadSlots slots(1'100);
  EXPECT_EQ(slots.take(0), std::nullopt);
  EXPECT_EQ(slots.take(1'025), std::nullopt);
  EXPECT_EQ(slots.take(1'024), 0U);
  slots.release_oldest();
  EXPECT_EQ(slots.take(300), 0U);
  slots.release_oldest();
  EXPECT_EQ(slots.take(1'024), 0U) << "wherever the last one was";
}

TEST(UploadSlots, NoTwoPlacesEverOverlap) {
  constexpr std::size_t kBytes = 8'192;
  UploadSlots slots(kBytes);
  std::deque<std::pair<std::size_t, std::size_t>> live;  // [first, second)
  std::mt19937 random(1);
  std::size_t taken = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      slots.release_oldest();
      live.pop_front();
      continue;
    }
    const std::size_t bytes = 1 + random() % 3'000;
    const auto offset = slots.take(bytes);
    if (!offset) continue;
    ++taken;
    ASSERT_EQ(*offset % UploadSlots::kAlignment, 0U);
    ASSERT_LE(*offset + bytes, kBytes);
    for (const auto& [first, second] : live) {
      ASSERT_TRUE(*offset + bytes <= first || second <= *offset) << step;
    }
    live.emplace_back(*offset, *offset + bytes);
    ASSERT_EQ(slots.count(), live.size());
  }
  EXPECT_GT(taken, 5'000U);
}

}  // namespace
}  // namespace aqua::device
