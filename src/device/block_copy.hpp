// SPDX-License-Identifier: Apache-2.0
// BlockCopy describes a copy between paged memories by the numbers of blocks: all pieces are of one
// size, and where they lie follows from a few strides and one list of numbers for all planes.
//
// Units: bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace aqua::device {

// Where the pieces of one side lie. Piece (plane, block i, outer, inner) is at
//   planes[plane] + ids[i] * block_stride + outer * outer_stride + inner * inner_stride
struct BlockEnd {
  std::vector<std::byte*> planes{};  // none: the side is a line, see PieceRange
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

// Immutable once a table is made of it, and shared with the device until its last copy has run.
using BlockBatch = std::shared_ptr<const BlockCopy>;

// `count` pieces from number `first` on. A side without planes has them one after the other from
// `line` on.
struct PieceRange {
  std::size_t first = 0;
  std::size_t count = 0;
  std::byte* line = nullptr;
};

// A BlockCopy as its device reads it, for any number of copies of its pieces.
class BlockTable {
 public:
  explicit BlockTable(BlockBatch blocks) noexcept : blocks_(std::move(blocks)) {}
  virtual ~BlockTable() = default;
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  [[nodiscard]] const BlockBatch& blocks() const noexcept { return blocks_; }

 private:
  BlockBatch blocks_;
};

}  // namespace aqua::device
