// SPDX-License-Identifier: Apache-2.0
// Copies of parts of sequences as a BlockCopy: between a cache and a packed form, or between two
// caches whose blocks differ in size and in the order of their axes.
//
// Tokens move in units that lie in one block at both ends. A unit is a block of the BlockCopy: its
// place is a number times a stride, also where it is a part of a cache's block.
//
// Units: bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aqua/kv_range.hpp"
#include "aqua/layout.hpp"
#include "layout/block_copy.hpp"
#include "layout/checked_blocks.hpp"

namespace aqua::layout {

// Part of a sequence whose blocks are listed in the order of its tokens.
struct PagedEnd {
  const Layout& layout;
  const CheckedBlocks& blocks;  // of this layout
  KvRange range{};
};

enum class PackedSide : std::uint8_t { dst, src };

// The range with its counts in numbers. invalid_argument, naming the axis, where it is empty or
// reaches past its end.
[[nodiscard]] Result<KvRange> resolve(const Layout& layout, std::size_t blocks,
                                      const KvRange& range);

// The range, which is resolved, as up to three in the order of its tokens: whole blocks by
// themselves where there are two or more of them, so that they move as such. Both ends of a copy
// that is to gain by it have tokens at the same places of their blocks.
[[nodiscard]] std::vector<KvRange> whole_blocks_apart(const Layout& layout, const KvRange& range);

// Whether a side is a line. One that is none needs more steps than a BlockCopy has within a block;
// then the packed form is named by the address at which it begins.
[[nodiscard]] inline bool has_line(const BlockCopy& copy) noexcept {
  return copy.dst.planes.empty() || copy.src.planes.empty();
}

// Whole blocks and their packed form (aqua/layout.hpp). The blocks are of this layout.
[[nodiscard]] Result<BlockCopy> pack_blocks(const Layout& layout, const CheckedBlocks& blocks,
                                            PackedSide side, std::byte* packed);
// A range and its packed form (aqua/layout.hpp).
[[nodiscard]] Result<BlockCopy> pack_range(const PagedEnd& cache, PackedSide side,
                                           std::byte* packed);
// From one cache to another one: layer by layer, token by token, head by head. invalid_argument for
// ends that differ in layers, planes, tokens, heads or bytes of a head.
[[nodiscard]] Result<BlockCopy> pair(const PagedEnd& dst, const PagedEnd& src);

}  // namespace aqua::layout
