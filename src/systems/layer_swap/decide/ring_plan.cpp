// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/ring_plan.hpp"

#include <algorithm>
#include <array>
#include <limits>

// A chain is a run of fetches that keep the link busy. It begins when a frame is free and ends in
// time for its last layer. A step has no stall when every chain fits: m fetches from layer e of the
// streamed on, into the frame of the one d before it, fit while
//   m * t_swap <= (turn of layer e + m - 1) - (end of layer e - d)
// and all S of a step fit into n turns.
namespace aqua::layer_swap {
namespace {

class Spread {
 public:
  Spread(std::uint32_t layers, std::uint32_t streamed) : layers_(layers) {
    for (std::uint32_t j = 0; j < streamed; ++j) turns_.push_back(j * layers / streamed);
  }
  [[nodiscard]] const std::vector<LayerIndex>& turns() const { return turns_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(turns_.size()); }

  // The slowest fetch, in compute times, that every chain from `e` on bears.
  [[nodiscard]] double bears(std::uint32_t e, std::uint32_t distance) const {
    double least = std::numeric_limits<double>::infinity();
    // From turn to turn the spread is off by less than one: then no chain is tighter than a step.
    if ((distance - 1) * layers_ >= 2 * size()) return least;
    const std::uint32_t freed = turn(e + size() - distance) + 1;
    for (std::uint32_t m = 1; m <= size(); ++m) {
      least = std::min(least, static_cast<double>(turn(e + size() + m - 1) - freed) / m);
    }
    return least;
  }

 private:
  // Counts on from step to step.
  [[nodiscard]] std::uint32_t turn(std::uint32_t j) const {
    return turns_[j % size()] + j / size() * layers_;
  }
  std::uint32_t layers_;
  std::vector<LayerIndex> turns_;
};

// Deals frames in turn, the one used longest ago first; at an early layer, the next but one.
std::vector<FrameIndex> deal(std::uint32_t streamed, std::uint32_t ring,
                             const std::vector<std::uint32_t>& early) {
  std::vector<FrameIndex> slots(streamed);
  std::array<FrameIndex, kMostRing> oldest_first{0, 1, 2};
  const std::uint32_t start = early.empty() ? 0 : early.front();
  for (std::uint32_t i = 0; i < streamed; ++i) {
    const std::uint32_t j = (start + i) % streamed;
    const bool is_early = std::find(early.begin(), early.end(), j) != early.end();
    const auto used = oldest_first.begin() + (is_early ? 1 : 0);
    slots[j] = *used;
    std::rotate(used, used + 1, oldest_first.begin() + ring);
  }
  return slots;
}

// The layers that follow early in their frame so that the deal closes over a step: none, one in a
// ring of 2, two in a ring of 3, whose distance follows from the remainder.
std::vector<std::uint32_t> choose_early(const Spread& spread, std::uint32_t ring,
                                        double& sustains) {
  const std::uint32_t count = spread.size();
  const std::uint32_t left = count % ring;
  if (left == 0) return {};
  std::vector<double> bears;
  for (std::uint32_t e = 0; e < count; ++e) bears.push_back(spread.bears(e, ring - 1));
  std::vector<std::uint32_t> chosen;
  double best = -1;
  for (std::uint32_t a = 0; a < count; ++a) {
    if (ring == 2) {
      if (bears[a] > best) chosen = {a};
      best = std::max(best, bears[a]);
      continue;
    }
    for (std::uint32_t apart = 3 - left; apart < count; apart += 3) {
      const std::uint32_t b = (a + apart) % count;
      const double both = std::min(bears[a], bears[b]);
      if (both > best) chosen = {a, b};
      best = std::max(best, both);
    }
  }
  sustains = std::min(sustains, best);
  return chosen;
}

}  // namespace

RingPlan plan_ring(std::uint32_t layers, std::uint32_t frames, std::uint32_t ring) {
  const Spread spread(layers, layers - frames + ring);
  double sustains = static_cast<double>(layers) / spread.size();
  for (std::uint32_t e = 0; e < spread.size(); ++e) {
    sustains = std::min(sustains, spread.bears(e, ring));
  }
  const auto early = choose_early(spread, ring, sustains);
  return {ring, spread.turns(), deal(spread.size(), ring, early), sustains};
}

RingPlan best_ring(std::uint32_t layers, std::uint32_t frames) {
  RingPlan best;
  best.sustains = std::numeric_limits<double>::infinity();
  for (std::uint32_t ring = 1; ring <= std::min(kMostRing, layers - frames); ++ring) {
    RingPlan plan = plan_ring(layers, frames, ring);
    if (ring == 1 || plan.sustains > best.sustains) best = std::move(plan);
  }
  return best;
}

}  // namespace aqua::layer_swap
