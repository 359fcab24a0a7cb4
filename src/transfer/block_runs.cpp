// SPDX-License-Identifier: Apache-2.0
#include "transfer/block_runs.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::transfer {

Result<BlockRuns> BlockRuns::make(const Layout& layout, BlockList blocks) {
  const LayoutSpec& spec = layout.spec();
  const bool dense = spec.segment_stride == spec.segment_bytes;
  const bool joins = dense && spec.block_stride == layout.plane_block_bytes();
  const std::size_t parts = dense ? 1 : spec.segments_per_block;
  std::vector<bool> seen(blocks.empty() ? 0 : spec.block_count);
  BlockRuns made;
  made.blocks_ = blocks.size();
  made.runs_.reserve(blocks.size() * parts + 1);
  std::size_t packed = 0;
  std::size_t next = spec.block_count;  // the block that would continue the run: none
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::size_t block = blocks[i];
    if (block >= spec.block_count) {
      return Error{Code::invalid_argument,
                   concat("block list: entry ", i, " is block ", block, " of ", spec.block_count)};
    }
    if (seen[block]) {
      return Error{Code::invalid_argument,
                   concat("block list: block ", block, " is listed again at entry ", i)};
    }
    seen[block] = true;
    if (!joins || block != next) {
      for (std::size_t s = 0; s < parts; ++s) {
        made.runs_.push_back(
            {block * spec.block_stride + s * spec.segment_stride, packed + s * spec.segment_bytes});
      }
    }
    packed += layout.plane_block_bytes();
    next = block + 1;
  }
  made.runs_.push_back({0, packed});
  return made;
}

std::span<const BlockRun> BlockRuns::between(std::size_t begin, std::size_t end) const noexcept {
  const auto first = std::ranges::upper_bound(runs_, begin, {}, &BlockRun::packed) - 1;
  return {first, std::ranges::lower_bound(first, runs_.end(), end, {}, &BlockRun::packed)};
}

Pieces BlockRuns::pieces(std::size_t planes) const noexcept {
  Pieces pieces;
  for (std::size_t i = 0; i < count(); ++i)
    pieces.add(planes, runs_[i + 1].packed - runs_[i].packed);
  return pieces;
}

}  // namespace aqua::transfer
