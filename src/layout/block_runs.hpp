// SPDX-License-Identifier: Apache-2.0
// BlockRuns is a checked block list as the contiguous runs of bytes that it takes of a plane.
// Every plane has the same runs at its own base, so a list is walked once for all planes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aqua/layout.hpp"
#include "layout/checked_blocks.hpp"

namespace aqua::layout {

// Where a run begins: in the cache from the plane's base, in the packed form from the plane's
// first byte there. It ends where the next one begins in the packed form.
struct BlockRun {
  std::size_t cache = 0;
  std::size_t packed = 0;
  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

class BlockRuns {
 public:
  // `blocks` are of this layout. Those that follow one another in the list and in the plane,
  // without a gap, are one run.
  BlockRuns(const Layout& layout, const CheckedBlocks& blocks);

  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  // The number of runs in one plane.
  [[nodiscard]] std::size_t count() const noexcept { return runs_.size() - 1; }
  [[nodiscard]] std::size_t plane_bytes() const noexcept { return runs_.back().packed; }
  // The runs that hold the bytes [begin, end) of the plane's packed form, begin < end. Behind the
  // last one there is one more entry, at whose `packed` it ends.
  [[nodiscard]] std::span<const BlockRun> between(std::size_t begin,
                                                  std::size_t end) const noexcept;

 private:
  std::vector<BlockRun> runs_;
};

}  // namespace aqua::layout
