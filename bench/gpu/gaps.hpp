// SPDX-License-Identifier: Apache-2.0
// What lies between the blocks that a copy writes, where it may write nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/copy.hpp"

namespace aqua::bench {

// Bytes [first, first + bytes) of the area that begins at `area`. Device-readable as it is.
struct Gap {
  const std::byte* area;
  std::uint64_t first;
  std::uint64_t bytes;
};

inline constexpr std::uint64_t kMostGap = std::uint64_t{128} << 10;

// All of each area that no segment's destination covers, ascending, in gaps of kMostGap bytes at
// most: a large one is work for many CTAs. Pure.
[[nodiscard]] std::vector<Gap> gaps(std::span<const std::span<std::byte>> areas,
                                    std::span<const kernels::Segment> segments);

}  // namespace aqua::bench
