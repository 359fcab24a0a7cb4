// SPDX-License-Identifier: Apache-2.0
// Which slabs lie where: no two layers share one unless they share a slot of the ring, and a layer
// that stays keeps its own.
#include "systems/layer_swap/act/frame_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace aqua::layer_swap {
namespace {

constexpr FrameShape kShape{.layers = 12, .planes = 2, .slabs = 96};

// By slab, who has it: a layer that stays, or 100 + a slot of the ring; with its plane and place.
void expect_apart(const PlaneMemory::Places& places, const RingPlan& plan, std::size_t per_plane) {
  const auto streamed = streamed_layers(plan, kShape.layers);
  std::map<LayerIndex, FrameIndex> slot;
  for (std::size_t j = 0; j < plan.streamed.size(); ++j) slot[plan.streamed[j]] = plan.slot[j];
  std::map<std::uint32_t, std::vector<std::size_t>> holders;
  for (std::size_t p = 0; p < places.size(); ++p) {
    const auto layer = static_cast<LayerIndex>(p / kShape.planes);
    ASSERT_EQ(places[p].size(), per_plane);
    for (std::size_t i = 0; i < per_plane; ++i) {
      const std::size_t owner = streamed[layer] ? 100 + slot[layer] : layer;
      const std::vector<std::size_t> at{owner, p % kShape.planes, i};
      const auto [known, fresh] = holders.emplace(places[p][i], at);
      EXPECT_EQ(known->second, at) << "slab " << places[p][i];
      EXPECT_LT(places[p][i], kShape.slabs);
    }
  }
}

TEST(FramePlaces, EverySlabIsInOneFrameAndLayersThatStayKeepTheirs) {
  PlaneMemory::Places places;
  RingPlan before;
  for (const std::uint32_t frames : {12U, 9U, 3U, 7U, 12U, 5U, 6U}) {
    const RingPlan plan = best_ring(kShape.layers, frames);
    const std::size_t per_plane = kShape.slabs_per_plane(frames);
    const auto next = place_frames(kShape, places, before, plan, per_plane);
    expect_apart(next, plan, per_plane);
    const auto streamed_before = streamed_layers(before, kShape.layers);
    const auto streamed = streamed_layers(plan, kShape.layers);
    for (std::size_t p = 0; p < places.size(); ++p) {
      const std::size_t layer = p / kShape.planes;
      if (streamed[layer] || streamed_before[layer]) continue;
      for (std::size_t i = 0; i < std::min(places[p].size(), per_plane); ++i)
        EXPECT_EQ(next[p][i], places[p][i]) << "layer " << layer;
    }
    places = next;
    before = plan;
  }
}

// What fewer frames leave is lent: no plane has it when there are more again, and no more frames
// than what is here makes.
TEST(FramePlaces, SlabsThatAreLentAreInNoFrame) {
  FrameShape shape = kShape;
  shape.same_blocks = true;
  const std::size_t per_plane = shape.slabs_per_plane(shape.layers);
  const RingPlan all = best_ring(shape.layers, 12), few = best_ring(shape.layers, 5);
  const RingPlan more = best_ring(shape.layers, 8);
  const auto first = place_frames(shape, {}, {}, all, per_plane);
  const auto left = place_frames(shape, first, all, few, per_plane);
  std::vector<bool> unused(shape.slabs, true);
  for (const auto& plane : left) {
    for (const std::uint32_t slab : plane) unused[slab] = false;
  }
  std::vector<bool> lent = unused;  // all of it but what three frames take
  std::size_t back = shape.slabs_of(8) - shape.slabs_of(5);
  for (std::size_t slab = 0; slab < lent.size() && back > 0; ++slab) {
    if (lent[slab]) lent[slab] = false, --back;
  }
  const auto next = place_frames(shape, left, few, more, per_plane, lent);
  expect_apart(next, more, per_plane);
  for (const auto& plane : next) {
    for (const std::uint32_t slab : plane) EXPECT_FALSE(lent[slab]) << slab;
  }
}

}  // namespace
}  // namespace aqua::layer_swap
