// SPDX-License-Identifier: Apache-2.0
// FramePlaces says which slabs lie in the planes of which layer: a frame of its own for a layer
// that stays, one of the ring's for a layer that streams.
//
// Units: slabs. Owns: numbers only.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/plane_memory.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::layer_swap {

struct FrameShape {
  std::uint32_t layers = 0;
  std::uint32_t planes = 0;  // of a layer
  std::size_t slabs = 0;     // of all frames
  bool same_blocks = false;  // however many frames there are: the others' slabs are not used

  // In each plane of each of so many frames.
  [[nodiscard]] std::size_t slabs_per_plane(std::uint32_t frames) const {
    return slabs / planes / (same_blocks ? layers : frames);
  }
  [[nodiscard]] std::size_t slabs_of(std::uint32_t frames) const {
    return slabs_per_plane(frames) * planes * frames;
  }
};

[[nodiscard]] std::vector<bool> streamed_layers(const RingPlan& plan, std::uint32_t layers);

// The places of `next`, each plane of a frame with `per_plane` slabs. A layer that stays under both
// plans keeps its slabs from the first one on; `now` is empty at first. Slabs of `lent`, by number,
// are left out; there are enough others.
[[nodiscard]] PlaneMemory::Places place_frames(const FrameShape& shape,
                                               const PlaneMemory::Places& now,
                                               const RingPlan& before, const RingPlan& next,
                                               std::size_t per_plane,
                                               const std::vector<bool>& lent = {});

}  // namespace aqua::layer_swap
