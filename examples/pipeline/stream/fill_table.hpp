// SPDX-License-Identifier: Apache-2.0
// The table at the beginning of a parcel's segment: which ranges lie in it, and where.
//
// Threads: functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aqua/kv_range.hpp"

namespace aqua::pipeline {

struct Fill {
  KvRange range{};           // as the giver counts layers and heads
  std::uint64_t offset = 0;  // in the segment
};

inline constexpr std::size_t kTableBytes = std::size_t{64} << 10;  // at the segment's beginning
inline constexpr std::size_t kMostFills = kTableBytes / sizeof(Fill) - 1;

// `segment` has kTableBytes; at most kMostFills.
void write_table(std::byte* segment, const std::vector<Fill>& fills);
// Of a segment of so many bytes. What cannot be a table is an empty one.
[[nodiscard]] std::vector<Fill> read_table(const std::byte* segment, std::uint64_t bytes);

}  // namespace aqua::pipeline
