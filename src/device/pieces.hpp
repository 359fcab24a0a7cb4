// SPDX-License-Identifier: Apache-2.0
// The pieces of a BlockCopy one by one, for devices and checks: the addresses are the kernels' own
// arithmetic (kernels/blocks.hpp).
#pragma once

#include "device/device.hpp"
#include "kernels/walk.hpp"

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

// Calls visit(CopySegment) for each, in order. The range has been checked.
template <typename Visit>
void each_piece(const BlockCopy& copy, const PieceRange& range, Visit visit) {
  kernels::walk(blocks_of(copy), range.line, range.first, range.count,
                [&](std::byte* dst, const std::byte* src) {
                  visit(CopySegment{dst, src, copy.piece_bytes});
                });
}

}  // namespace aqua::device
