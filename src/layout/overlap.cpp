// SPDX-License-Identifier: Apache-2.0
#include "layout/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace aqua::layout {
namespace {

using Signed = std::int64_t;

// Runs of two planes lie at a lattice of distances from each other:
//   delta + db * block_stride + ds * segment_stride,  |db| < block_count, |ds| < segments
// Two runs share a byte when such a distance is smaller than a run is long. For each ds
// only the db nearest to a distance of zero can do so.
bool runs_meet(const LayoutSpec& spec, Signed delta) {
  const auto run = static_cast<Signed>(spec.segment_bytes);
  const auto block_stride = static_cast<Signed>(spec.block_stride);
  const auto segment_stride = static_cast<Signed>(spec.segment_stride);
  const Signed last_block = Signed{spec.block_count} - 1;
  const Signed last_segment = Signed{spec.segments_per_block} - 1;
  for (Signed ds = -last_segment; ds <= last_segment; ++ds) {
    const Signed distance = delta + ds * segment_stride;
    const Signed nearest = -distance / block_stride;
    for (Signed guess = nearest - 1; guess <= nearest + 1; ++guess) {
      const Signed db = std::clamp(guess, -last_block, last_block);
      if (delta == 0 && ds == 0 && db == 0) continue;  // a run and itself
      const Signed gap = distance + db * block_stride;
      if (gap < run && gap > -run) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(const LayoutSpec& spec,
                                                                std::size_t extent) {
  if (runs_meet(spec, 0)) return std::pair{std::size_t{0}, std::size_t{0}};
  std::vector<std::size_t> order(spec.planes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto address = [&](std::size_t p) {
    return reinterpret_cast<std::uintptr_t>(spec.planes[p]);
  };
  std::ranges::sort(order, {}, address);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const std::uintptr_t delta = address(order[j]) - address(order[i]);
      if (delta >= extent) break;  // sorted: all further planes lie beyond, too
      if (delta == 0 || runs_meet(spec, static_cast<Signed>(delta))) {
        return std::minmax(order[i], order[j]);
      }
    }
  }
  return std::nullopt;
}

}  // namespace aqua::layout
