// SPDX-License-Identifier: Apache-2.0
// How the blocks of a layout fall into contiguous pieces: their axes without what lies side by
// side.
//
// Units: bytes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "aqua/layout.hpp"

namespace aqua::layout {

// Places at a distance of `stride` from one to the next.
struct Steps {
  std::size_t count = 1;
  std::size_t stride = 0;
  friend bool operator==(const Steps&, const Steps&) = default;
};

// A block as pieces of `bytes`, none of which continues the one before.
class BlockPieces {
 public:
  explicit BlockPieces(const BlockAxes& axes) noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // The axes that have gaps, the largest stride first.
  [[nodiscard]] std::span<const Steps> steps() const noexcept { return {steps_.data(), used_}; }
  [[nodiscard]] std::size_t count() const noexcept;  // of pieces
  // From the block's beginning to each piece, in the order of the packed form.
  [[nodiscard]] std::vector<std::size_t> offsets() const;

 private:
  std::array<Steps, 3> steps_{};
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
};

// Whether a block and the next one are one piece.
[[nodiscard]] bool blocks_join(const LayoutSpec& spec, const BlockPieces& pieces) noexcept;
// From the beginning of a block, or of a plane, to the end of its last piece.
[[nodiscard]] std::size_t block_extent(const BlockAxes& axes) noexcept;
[[nodiscard]] std::size_t plane_extent(const LayoutSpec& spec) noexcept;
// The same axes in the same order, without gaps.
[[nodiscard]] BlockAxes without_gaps(const BlockAxes& axes) noexcept;

}  // namespace aqua::layout
