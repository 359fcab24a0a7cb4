// SPDX-License-Identifier: Apache-2.0
#include "stream/fill_table.hpp"

#include <cstring>

namespace aqua::pipeline {

// The number of entries comes first, in the room of one.
void write_table(std::byte* segment, const std::vector<Fill>& fills) {
  const std::uint64_t count = fills.size();
  std::memcpy(segment, &count, sizeof(count));
  std::memcpy(segment + sizeof(Fill), fills.data(), count * sizeof(Fill));
}

std::vector<Fill> read_table(const std::byte* segment, std::uint64_t bytes) {
  std::uint64_t count = 0;
  if (bytes < kTableBytes) return {};
  std::memcpy(&count, segment, sizeof(count));
  if (count > kMostFills) return {};
  std::vector<Fill> fills(count);
  std::memcpy(fills.data(), segment + sizeof(Fill), count * sizeof(Fill));
  return fills;
}

}  // namespace aqua::pipeline
