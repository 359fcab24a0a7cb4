// SPDX-License-Identifier: Apache-2.0
#include "layout/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "layout/block_pieces.hpp"

namespace aqua::layout {
namespace {

using Signed = std::int64_t;

// Pieces of two planes lie at a lattice of distances from each other:
//   delta + d1 * stride1 + d2 * stride2 + ...,  |di| < counti
// for the steps from block to block and those within a block. Two pieces share a byte when such a
// distance is smaller than a piece is long.
struct Level {
  Signed last = 0;    // |d| is at most this
  Signed stride = 0;  // those of later levels are no larger
  Signed below = 0;   // the largest distance that later levels add
};

Signed floor_of(Signed a, Signed b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Where levels nest, as they do in any cache that was meant, each of four has at most three d worth
// a look. What strides that do not nest take beyond that is bounded, of all planes together.
constexpr std::uint64_t kNestedSteps = 3 + 9 + 27 + 81;
constexpr std::uint64_t kFurtherSteps = std::uint64_t{1} << 24;

// `same`: of a piece and itself there is nothing to find. `left`: steps that it may take; where
// none are left it has not seen all.
bool meet(std::span<const Level> levels, Signed piece, Signed distance, bool same,
          std::uint64_t& left) {
  if (levels.empty()) return !same && distance < piece && distance > -piece;
  const Level& level = levels.front();
  const Signed room = piece - 1 + level.below;
  const Signed first = std::max(-level.last, -floor_of(room + distance, level.stride));
  const Signed last = std::min(level.last, floor_of(room - distance, level.stride));
  for (Signed d = first; d <= last && left > 0; ++d) {
    --left;
    const Signed at = distance + d * level.stride;
    if (meet(levels.subspan(1), piece, at, same && d == 0, left)) return true;
  }
  return false;
}

class Lattice {
 public:
  explicit Lattice(const LayoutSpec& spec) {
    const BlockPieces pieces(spec.axes);
    piece_ = static_cast<Signed>(pieces.bytes());
    add({spec.block_count, spec.block_stride});
    for (const Steps& steps : pieces.steps()) add(steps);
    std::ranges::sort(levels_, std::greater{}, &Level::stride);
    Signed below = 0;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      level->below = below;
      below += level->last * level->stride;
    }
  }
  // Whether two planes at this distance meet; 0: a plane with itself.
  [[nodiscard]] bool meets(Signed delta) {
    std::uint64_t left = further_ + kNestedSteps + 1;
    const bool met = meet(levels_, piece_, delta, delta == 0, left);
    further_ = std::min(further_, left);
    return met;
  }
  // What meets() has answered may be wrong.
  [[nodiscard]] bool gave_up() const noexcept { return further_ == 0; }

 private:
  void add(const Steps& steps) {
    if (steps.count > 1)
      levels_.push_back({static_cast<Signed>(steps.count - 1), static_cast<Signed>(steps.stride)});
  }
  std::vector<Level> levels_;
  Signed piece_ = 0;
  std::uint64_t further_ = kFurtherSteps;
};

}  // namespace

Result<std::optional<PlanePair>> find_overlap(const LayoutSpec& spec, std::size_t extent) {
  const Error too_many{Code::invalid_argument,
                       "layout: strides that do not nest, in too many ways to be told apart"};
  Lattice lattice(spec);
  if (lattice.meets(0)) return std::optional(PlanePair{0, 0});
  if (lattice.gave_up()) return too_many;
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
      if (delta == 0 || lattice.meets(static_cast<Signed>(delta))) {
        return std::optional<PlanePair>(std::minmax(order[i], order[j]));
      }
      if (lattice.gave_up()) return too_many;
    }
  }
  return std::optional<PlanePair>{};
}

}  // namespace aqua::layout
