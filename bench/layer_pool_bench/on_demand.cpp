// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/on_demand.hpp"

#include "must.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::bench {

OnDemandEngine::OnDemandEngine(Runtime& runtime, const Shape& shape, std::uint32_t frames)
    : Engine(runtime, shape, shape.frame_blocks()),
      frames_(must(emulated::allocate(runtime, frames * shape.frame_bytes()), "frames")),
      layers_(shape.layers) {
  const layer_swap::RingPlan plan = layer_swap::best_ring(shape.layers, frames);
  std::vector<std::uint32_t> frame_of(shape.layers, shape.layers);
  for (std::size_t j = 0; j < plan.streamed.size(); ++j) {
    frame_of[plan.streamed[j]] = plan.slot[j];
    layers_[plan.streamed[j]].away =
        must(runtime.allocate({.bytes = shape.frame_bytes(), .off_device = true}), "allocate");
  }
  std::uint32_t unused = plan.ring;
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    if (frame_of[layer] == shape.layers) frame_of[layer] = unused++;
    std::byte* const frame = frames_.data() + frame_of[layer] * shape.frame_bytes();
    for (std::size_t p = 0; p < shape.planes; ++p)
      layers_[layer].planes.push_back(frame + p * shape.slabs * kSlabBytes);
  }
}

Layout OnDemandEngine::layout_of(const Layer& layer) const {
  return must(Layout::make({.layers = 1,
                            .planes_per_layer = shape().planes,
                            .planes = layer.planes,
                            .block_count = shape().frame_blocks(),
                            .block_stride = shape().block_bytes,
                            .axes = BlockAxes::whole(shape().block_bytes)}),
              "layout");
}

void OnDemandEngine::begin(const Blocks& reads, const Blocks& writes) {
  reads_ = reads;
  writes_ = writes;
}

std::span<std::byte* const> OnDemandEngine::begin_layer(std::uint32_t number) {
  Layer& layer = layers_[number];
  if (layer.away.valid() && !reads_.empty()) {
    must(runtime().fetch(layer.away, TensorPages{shape().frame_blocks(), reads_, 0},
                         layout_of(layer), reads_, stream()),
         "fetch");
  }
  return layer.planes;
}

void OnDemandEngine::end_layer(std::uint32_t number) {
  Layer& layer = layers_[number];
  if (!layer.away.valid() || writes_.empty()) return;
  must(runtime().offload(layout_of(layer), writes_, layer.away,
                         TensorPages{shape().frame_blocks(), writes_, 0}, stream()),
       "offload");
}

}  // namespace aqua::bench
