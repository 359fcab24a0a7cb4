// SPDX-License-Identifier: Apache-2.0
// The pieces of Blocks one after another, on the host: planes and ids are host memory.
#pragma once

#include "kernels/blocks.hpp"

namespace aqua::kernels {

struct HostLane {
  template <typename Entry>
  [[nodiscard]] Entry read(const Entry* entry) const {
    return *entry;
  }
};

// Calls visit(std::byte* dst, const std::byte* src) for pieces first to first + count - 1. A side
// without planes begins at `line`.
template <typename Visit>
void walk(const Blocks& blocks, std::byte* line, std::uint64_t first, std::uint64_t count,
          Visit visit) {
  const HostLane lane;
  Cursor cursor(lane, blocks, line);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i == 0) {
      cursor.seek(first, 0);
    } else {
      cursor.advance();
    }
    visit(cursor.dst(), cursor.src());
  }
}

}  // namespace aqua::kernels
