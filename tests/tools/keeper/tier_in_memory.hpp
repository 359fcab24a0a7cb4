// SPDX-License-Identifier: Apache-2.0
// Disk tiers over a disk in memory, and what they offer.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "tests/tools/keeper/kept_segments.hpp"
#include "tests/tools/keeper/memory_directory.hpp"

namespace aqua::keeper::test {

inline constexpr std::chrono::seconds kPatience{60};
inline constexpr std::uint64_t kQuota = std::uint64_t{64} << 10;  // files of 8 KiB

inline std::unique_ptr<DiskTier> open_tier(MemoryDisk& disk, std::uint64_t quota = kQuota) {
  auto tier = DiskTier::open("/disk", std::make_unique<MemoryDirectory>(disk), quota);
  EXPECT_TRUE(tier.ok()) << tier.error().message;
  return *std::move(tier);
}
// What a tier that is opened anew offers, and keeps.
inline Offered offered_by(DiskTier& tier) {
  Offered offered;
  tier.offer_all([&](const LoggedSegment& segment, const DiskTier::Fill& fill) {
    return offered.take(segment, fill);
  });
  return offered;
}
inline Offered offered_by(MemoryDisk& disk) {
  const auto tier = open_tier(disk);
  return offered_by(*tier);
}

}  // namespace aqua::keeper::test
