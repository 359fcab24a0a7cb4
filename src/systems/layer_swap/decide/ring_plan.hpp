// SPDX-License-Identifier: Apache-2.0
// RingPlan says which layers of a model stay on the device and which stream through a ring of a few
// frames, each through a frame that is its own in every step.
//
// With F frames of n layers and a ring of R, S = n - F + R layers stream, spread evenly. A layer is
// fetched when the one before it in its frame has computed, and must be there when its turn comes.
// A link takes n / S compute times for a layer at most; how much less a ring bears depends on how
// the layers meet in the frames. R frames that take turns are best. When R does not divide S, some
// layers follow R - 1 after the one before them in their frame, and are put where most time is
// left.
#pragma once

#include <cstdint>
#include <vector>

#include "systems/layer_swap/decide/layer_schedule.hpp"

namespace aqua::layer_swap {

inline constexpr std::uint32_t kMostRing = 3;

struct RingPlan {
  std::uint32_t ring = 0;            // R; 0 when every layer stays
  std::vector<LayerIndex> streamed;  // in the order they compute
  std::vector<FrameIndex> slot;      // of each, below `ring`
  // No step stalls as long as fetching a layer, and writing back what was written to one, take
  // together at most so many times what one layer computes. Infinite when every layer stays.
  double sustains = 0;
};

// Needs 1 <= ring <= layers - frames.
[[nodiscard]] RingPlan plan_ring(std::uint32_t layers, std::uint32_t frames, std::uint32_t ring);

// The plan that sustains most, of the smaller ring where two are alike.
[[nodiscard]] RingPlan best_ring(std::uint32_t layers, std::uint32_t frames);

}  // namespace aqua::layer_swap
