// SPDX-License-Identifier: Apache-2.0
// BlockCopy describes a copy between paged memories by the numbers of blocks: all pieces are of one
// size, and where they lie follows from a few strides and one list of numbers for all planes. The
// copy kernels take it as it is (kernels/blocks.hpp).
//
// Units: bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace aqua::layout {

// Where the pieces of one side lie. Piece (plane, block i, outer, inner) is at
//   planes[plane] + ids[i] * block_stride + outer * outer_stride + inner * inner_stride
struct BlockEnd {
  std::vector<std::byte*> planes{};  // none: the side is a line, see device::PieceRange
  std::vector<std::uint32_t> ids{};  // of the blocks in order; none: 0, 1, 2, ...
  std::size_t block_stride = 0;
  std::size_t outer_stride = 0;
  std::size_t inner_stride = 0;
};

// Pieces are numbered by plane, then by block, then by outer and inner place within the block.
struct BlockCopy {
  BlockEnd dst{};
  BlockEnd src{};
  std::uint32_t blocks = 0;  // of a plane
  std::uint32_t outer = 1;   // a block is outer * inner pieces
  std::uint32_t inner = 1;
  std::size_t piece_bytes = 0;

  [[nodiscard]] std::size_t planes() const noexcept {
    return std::max(dst.planes.size(), src.planes.size());
  }
  [[nodiscard]] std::size_t pieces() const noexcept { return planes() * blocks * outer * inner; }
};

}  // namespace aqua::layout
