// SPDX-License-Identifier: Apache-2.0
// Blocks describes a copy whose pieces are all of one size and lie where the numbers of blocks say:
// instead of an address for each piece, a few strides and four bytes for each block, once for all
// planes. A Cursor computes the addresses in order. Plain arithmetic, the same on host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/host_device.hpp"

namespace aqua::kernels {

// Where the pieces of one side lie. Piece (plane, block i, outer, inner) is at
//   planes[plane] + (ids ? ids[i] : i) * block_stride + outer * outer_stride + inner * inner_stride
// A side without planes is a line: the pieces of a launch follow one another without gaps.
struct BlockSide {
  std::byte* const* planes = nullptr;
  const std::uint32_t* ids = nullptr;  // null: the blocks are 0, 1, 2, ...
  std::uint64_t block_stride = 0;
  std::uint64_t outer_stride = 0;
  std::uint64_t inner_stride = 0;
};

// Pieces are numbered by plane, then by block, outer and inner place in the block.
struct Blocks {
  BlockSide dst, src;
  std::uint32_t blocks = 0;  // of a plane
  std::uint32_t outer = 1;   // a block is outer * inner pieces
  std::uint32_t inner = 1;
  std::uint64_t piece_bytes = 0;
};

// A Lane reads an entry of a table in memory: Entry read(const Entry*).
template <typename Lane>
class Cursor {
 public:
  // Nothing is read before seek(). `line` is where a side without planes begins.
  AQUA_DEVICE Cursor(const Lane& lane, const Blocks& blocks, std::byte* line)
      : lane_(lane), blocks_(blocks), line_(reinterpret_cast<std::uintptr_t>(line)) {}

  // To piece number `piece`, which lies `place` pieces from the beginning of the line.
  AQUA_DEVICE void seek(std::uint64_t piece, std::uint64_t place) {
    inner_ = static_cast<std::uint32_t>(piece % blocks_.inner);
    piece /= blocks_.inner;
    outer_ = static_cast<std::uint32_t>(piece % blocks_.outer);
    piece /= blocks_.outer;
    block_ = static_cast<std::uint32_t>(piece % blocks_.blocks);
    plane_ = piece / blocks_.blocks;
    line_ += place * blocks_.piece_bytes;
    dst_.enter_plane(lane_, blocks_.dst, plane_);
    src_.enter_plane(lane_, blocks_.src, plane_);
    dst_.enter_block(lane_, blocks_.dst, block_);
    src_.enter_block(lane_, blocks_.src, block_);
  }
  // To the next piece, which there must be.
  AQUA_DEVICE void advance() {
    line_ += blocks_.piece_bytes;
    if (++inner_ < blocks_.inner) return;
    inner_ = 0;
    if (++outer_ < blocks_.outer) return;
    outer_ = 0;
    if (++block_ == blocks_.blocks) {
      block_ = 0;
      ++plane_;
      dst_.enter_plane(lane_, blocks_.dst, plane_);
      src_.enter_plane(lane_, blocks_.src, plane_);
    }
    dst_.enter_block(lane_, blocks_.dst, block_);
    src_.enter_block(lane_, blocks_.src, block_);
  }
  [[nodiscard]] AQUA_DEVICE std::byte* dst() const { return address(blocks_.dst, dst_); }
  [[nodiscard]] AQUA_DEVICE const std::byte* src() const { return address(blocks_.src, src_); }

 private:
  // Values as they were loaded: computing an address waits for them, going on to the next place
  // does not.
  struct Place {
    std::byte* plane = nullptr;
    std::uint32_t id = 0;

    AQUA_DEVICE void enter_plane(const Lane& lane, const BlockSide& side, std::uint64_t number) {
      if (side.planes != nullptr) plane = lane.read(side.planes + number);
    }
    AQUA_DEVICE void enter_block(const Lane& lane, const BlockSide& side, std::uint32_t i) {
      id = side.ids != nullptr ? lane.read(side.ids + i) : i;
    }
  };
  [[nodiscard]] AQUA_DEVICE std::byte* address(const BlockSide& side, const Place& place) const {
    if (side.planes == nullptr) return reinterpret_cast<std::byte*>(line_);
    return place.plane + place.id * side.block_stride + outer_ * side.outer_stride +
           inner_ * side.inner_stride;
  }

  const Lane& lane_;
  const Blocks& blocks_;
  std::uintptr_t line_;  // a number: where no side is a line it begins at null
  Place dst_, src_;
  std::uint64_t plane_ = 0;
  std::uint32_t block_ = 0;
  std::uint32_t outer_ = 0;
  std::uint32_t inner_ = 0;
};

}  // namespace aqua::kernels
