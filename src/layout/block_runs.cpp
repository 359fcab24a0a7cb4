// SPDX-License-Identifier: Apache-2.0
#include "layout/block_runs.hpp"

#include <algorithm>

#include "layout/block_pieces.hpp"

namespace aqua::layout {

BlockRuns::BlockRuns(const Layout& layout, const CheckedBlocks& blocks) {
  const LayoutSpec& spec = layout.spec();
  const BlockPieces pieces(spec.axes);
  const std::vector<std::size_t> offsets = pieces.offsets();
  const bool joins = blocks_join(spec, pieces);
  runs_.reserve(blocks.plane().count() + 1);
  std::size_t packed = 0;
  std::size_t next = spec.block_count;  // the block that would continue the run: none
  for (const std::size_t block : blocks.list()) {
    if (!joins || block != next) {
      for (std::size_t i = 0; i < offsets.size(); ++i)
        runs_.push_back({block * spec.block_stride + offsets[i], packed + i * pieces.bytes()});
    }
    packed += layout.plane_block_bytes();
    next = block + 1;
  }
  runs_.push_back({0, packed});
}

std::span<const BlockRun> BlockRuns::between(std::size_t begin, std::size_t end) const noexcept {
  const auto first = std::ranges::upper_bound(runs_, begin, {}, &BlockRun::packed) - 1;
  return {first, std::ranges::lower_bound(first, runs_.end(), end, {}, &BlockRun::packed)};
}

}  // namespace aqua::layout
