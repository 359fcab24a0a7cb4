// SPDX-License-Identifier: Apache-2.0
// The axes inside the blocks of a cache, and copies of the same tokens and heads between two caches
// whose blocks have them in different order, or between a cache and the packed form. Pure.
//
// Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aqua/layout.hpp"
#include "device/block_copy.hpp"
#include "layout/checked_blocks.hpp"
#include "transfer/link.hpp"

namespace aqua::transfer {

// How one plane's part of a block lies: `tokens` times `heads` runs of `bytes`.
struct BlockAxes {
  std::uint32_t tokens = 1;
  std::uint32_t heads = 1;
  std::size_t token_stride = 0;  // unused for one token, as the other for one head
  std::size_t head_stride = 0;
  std::size_t bytes = 0;  // of one head of one token

  // [token][head] and [head][token] without gaps.
  [[nodiscard]] static BlockAxes tokens_first(std::uint32_t tokens, std::uint32_t heads,
                                              std::size_t bytes) noexcept {
    return {tokens, heads, heads * bytes, bytes, bytes};
  }
  [[nodiscard]] static BlockAxes heads_first(std::uint32_t tokens, std::uint32_t heads,
                                             std::size_t bytes) noexcept {
    return {tokens, heads, bytes, tokens * bytes, bytes};
  }
  // What the layout itself says: one token, whose heads are the segments.
  [[nodiscard]] static BlockAxes of(const Layout& layout) noexcept;
};

// Some of an axis: `count` from `first` on.
struct AxisRange {
  std::uint32_t first = 0;
  std::uint32_t count = UINT32_MAX;  // this many at most
};

// What a transfer takes of each block.
struct BlockPart {
  BlockAxes axes;
  AxisRange tokens{};
  AxisRange heads{};
};

// One end of a copy: the part of each listed block of a cache.
struct PagedEnd {
  const Layout& layout;
  const layout::CheckedBlocks& blocks;  // of this layout
  BlockPart part{BlockAxes::of(layout)};
};

// The copy between a cache and the packed form of what is named of it: plane by plane, then in list
// order, then as the block has it, without gaps. For whole blocks it is the form of
// aqua/layout.hpp. invalid_argument for axes that are not the layout's blocks, and a range that is
// empty or begins past its axis.
[[nodiscard]] Result<device::BlockCopy> pack(const PagedEnd& cache, Direction direction);

// From one cache to another one: block by block in list order, token by token, head by head.
// invalid_argument also for ends that differ in planes, blocks, tokens, heads or bytes.
[[nodiscard]] Result<device::BlockCopy> pair(const PagedEnd& dst, const PagedEnd& src);

}  // namespace aqua::transfer
