// SPDX-License-Identifier: Apache-2.0
// CheckedBlocks is a block list that a layout has, and into how many pieces it falls. The list is
// walked once, and nothing is kept for each block.
#pragma once

#include <cstddef>

#include "aqua/layout.hpp"
#include "layout/pieces.hpp"

namespace aqua::layout {

class CheckedBlocks {
 public:
  // Refuses what Layout::check() refuses. Borrows the list.
  [[nodiscard]] static Result<CheckedBlocks> make(const Layout& layout, BlockList blocks);

  [[nodiscard]] BlockList list() const noexcept { return list_; }
  [[nodiscard]] std::size_t size() const noexcept { return list_.size(); }
  [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
  // The pieces of one plane by size. Blocks that follow one another in the list and in the plane,
  // without a gap, are one.
  [[nodiscard]] const Pieces& plane() const noexcept { return plane_; }

 private:
  explicit CheckedBlocks(BlockList list) : list_(list) {}
  BlockList list_;
  Pieces plane_;
};

}  // namespace aqua::layout
