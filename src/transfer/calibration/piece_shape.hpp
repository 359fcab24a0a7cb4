// SPDX-License-Identifier: Apache-2.0
// PieceShape: a transfer as an engine's would be, pieces of one size in random order, dealt over
// layers. For calibration and benchmarks.
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "aqua/layout.hpp"

namespace aqua::transfer {

struct PieceShape {
  // Between pieces, so that no two are neighbours, and each begins where vector accesses may.
  static constexpr std::size_t kGap = 256;

  unsigned layers = 1;
  std::uint32_t per_layer = 1;
  std::size_t piece_bytes = 0;

  // The whole pieces in `bytes`, at least one; as many in each layer, which may lose some.
  PieceShape(std::size_t piece, std::size_t bytes, unsigned most_layers) : piece_bytes(piece) {
    const std::size_t count = std::max<std::size_t>(bytes / piece, 1);
    layers = static_cast<unsigned>(std::min<std::size_t>(most_layers, count));
    per_layer = static_cast<std::uint32_t>(count / layers);
  }
  [[nodiscard]] std::size_t count() const { return std::size_t{layers} * per_layer; }
  [[nodiscard]] std::size_t bytes() const { return count() * piece_bytes; }
  [[nodiscard]] std::size_t stride() const { return (piece_bytes + kGap - 1) / kGap * kGap + kGap; }
  [[nodiscard]] std::size_t cache_bytes() const { return count() * stride(); }

  [[nodiscard]] Result<Layout> layout(std::byte* cache) const {
    LayoutSpec spec;
    spec.layers = layers;
    spec.planes_per_layer = 1;
    spec.block_count = per_layer;
    spec.block_stride = stride();
    spec.axes = BlockAxes::whole(piece_bytes);
    for (unsigned l = 0; l < layers; ++l)
      spec.planes.push_back(cache + std::size_t{l} * per_layer * spec.block_stride);
    return Layout::make(std::move(spec));
  }
  [[nodiscard]] std::vector<std::uint32_t> blocks() const {
    std::vector<std::uint32_t> list(per_layer);
    std::iota(list.begin(), list.end(), 0U);
    std::shuffle(list.begin(), list.end(), std::minstd_rand(per_layer));
    return list;
  }
};

}  // namespace aqua::transfer
