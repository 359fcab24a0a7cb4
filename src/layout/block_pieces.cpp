// SPDX-License-Identifier: Apache-2.0
#include "layout/block_pieces.hpp"

#include <algorithm>

namespace aqua::layout {

BlockPieces::BlockPieces(const BlockAxes& axes) noexcept : bytes_(axes.run_bytes) {
  std::array<BlockAxis, 3> all{axes.tokens, axes.heads, axes.runs};
  std::ranges::sort(all, {}, &BlockAxis::stride);
  // From the inside out. `steps_` has them in that order until the end.
  for (const BlockAxis& axis : all) {
    if (axis.count <= 1) continue;
    if (used_ == 0 && axis.stride == bytes_) {
      bytes_ *= axis.count;
    } else if (used_ != 0 && axis.stride == steps_[used_ - 1].count * steps_[used_ - 1].stride) {
      steps_[used_ - 1].count *= axis.count;
    } else {
      steps_[used_++] = {axis.count, axis.stride};
    }
  }
  std::reverse(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(used_));
}

std::size_t BlockPieces::count() const noexcept {
  std::size_t count = 1;
  for (const Steps& of : steps()) count *= of.count;
  return count;
}

std::vector<std::size_t> BlockPieces::offsets() const {
  std::vector<std::size_t> offsets{0};
  for (const Steps& of : steps()) {
    std::vector<std::size_t> finer;
    finer.reserve(offsets.size() * of.count);
    for (const std::size_t at : offsets)
      for (std::size_t i = 0; i < of.count; ++i) finer.push_back(at + i * of.stride);
    offsets = std::move(finer);
  }
  return offsets;
}

bool blocks_join(const LayoutSpec& spec, const BlockPieces& pieces) noexcept {
  return pieces.steps().empty() && spec.block_stride == pieces.bytes();
}

std::size_t block_extent(const BlockAxes& axes) noexcept {
  return (axes.tokens.count - 1) * axes.tokens.stride + (axes.heads.count - 1) * axes.heads.stride +
         (axes.runs.count - 1) * axes.runs.stride + axes.run_bytes;
}

std::size_t plane_extent(const LayoutSpec& spec) noexcept {
  return (spec.block_count - 1) * spec.block_stride + block_extent(spec.axes);
}

BlockAxes without_gaps(const BlockAxes& axes) noexcept {
  BlockAxes dense = axes;
  std::array<BlockAxis*, 3> order{&dense.tokens, &dense.heads, &dense.runs};
  std::ranges::stable_sort(order, {}, [](const BlockAxis* axis) { return axis->stride; });
  std::size_t stride = axes.run_bytes;
  for (BlockAxis* axis : order) {
    axis->stride = stride;
    stride *= axis->count;
  }
  return dense;
}

}  // namespace aqua::layout
