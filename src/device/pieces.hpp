// SPDX-License-Identifier: Apache-2.0
// The pieces of a BlockCopy one by one, for devices and checks: the addresses are the kernels' own
// arithmetic (kernels/blocks.hpp).
#pragma once

#include "device/device.hpp"
#include "kernels/blocks.hpp"

namespace aqua::device {

[[nodiscard]] inline kernels::BlockSide side_of(const BlockEnd& end) noexcept {
  return {end.planes.empty() ? nullptr : end.planes.data(),
          end.ids.empty() ? nullptr : end.ids.data(), end.block_stride, end.outer_stride,
          end.inner_stride};
}

// Refers to what `copy` holds.
[[nodiscard]] inline kernels::Blocks blocks_of(const BlockCopy& copy) noexcept {
  return {side_of(copy.dst), side_of(copy.src), copy.blocks,
          copy.outer,        copy.inner,        copy.piece_bytes};
}

struct HostLane {
  template <typename Entry>
  [[nodiscard]] Entry read(const Entry* entry) const {
    return *entry;
  }
};

// Calls visit(CopySegment) for each, in order. The range has been checked.
template <typename Visit>
void each_piece(const BlockCopy& copy, const PieceRange& range, Visit visit) {
  const kernels::Blocks blocks = blocks_of(copy);
  const HostLane lane;
  kernels::Cursor cursor(lane, blocks, range.line);
  for (std::size_t i = 0; i < range.count; ++i) {
    if (i == 0) {
      cursor.seek(range.first, 0);
    } else {
      cursor.advance();
    }
    visit(CopySegment{cursor.dst(), cursor.src(), copy.piece_bytes});
  }
}

}  // namespace aqua::device
