// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/act/frame_places.hpp"

#include <algorithm>

namespace aqua::layer_swap {

std::vector<bool> streamed_layers(const RingPlan& plan, std::uint32_t layers) {
  std::vector<bool> streamed(layers);
  for (const LayerIndex layer : plan.streamed) streamed[layer] = true;
  return streamed;
}

PlaneMemory::Places place_frames(const FrameShape& shape, const PlaneMemory::Places& now,
                                 const RingPlan& before, const RingPlan& next,
                                 std::size_t per_plane, const std::vector<bool>& lent) {
  const auto streamed_before = streamed_layers(before, shape.layers);
  const auto streamed = streamed_layers(next, shape.layers);
  PlaneMemory::Places places(std::size_t{shape.layers} * shape.planes);
  std::vector<bool> used = lent;
  used.resize(shape.slabs);
  for (std::size_t p = 0; p < places.size() && !now.empty(); ++p) {
    const std::size_t layer = p / shape.planes;
    if (streamed[layer] || streamed_before[layer]) continue;
    const auto kept = static_cast<std::ptrdiff_t>(std::min(now[p].size(), per_plane));
    places[p].assign(now[p].begin(), now[p].begin() + kept);
    for (const std::uint32_t slab : places[p]) used[slab] = true;
  }
  std::uint32_t unused = 0;
  const auto fill = [&](std::vector<std::uint32_t>& plane) {
    while (plane.size() < per_plane) {
      while (used[unused]) ++unused;
      plane.push_back(unused++);
    }
  };
  PlaneMemory::Places ring(std::size_t{next.ring} * shape.planes);
  for (auto& plane : ring) fill(plane);
  for (std::size_t j = 0; j < next.streamed.size(); ++j) {
    const std::size_t to = std::size_t{next.streamed[j]} * shape.planes;
    const std::size_t from = std::size_t{next.slot[j]} * shape.planes;
    for (std::size_t p = 0; p < shape.planes; ++p) places[to + p] = ring[from + p];
  }
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    if (streamed[layer]) continue;
    for (std::size_t p = 0; p < shape.planes; ++p) fill(places[layer * shape.planes + p]);
  }
  return places;
}

}  // namespace aqua::layer_swap
