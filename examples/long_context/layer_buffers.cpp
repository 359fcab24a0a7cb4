// SPDX-License-Identifier: Apache-2.0
#include "layer_buffers.hpp"

#include <numeric>

#include "must.hpp"

namespace aqua::long_context {

LayerBuffers::LayerBuffers(Runtime& runtime, const Shape& shape)
    : numbers_(shape.capacity_blocks()) {
  std::iota(numbers_.begin(), numbers_.end(), 0U);
  for (std::size_t i = 0; i < kCount; ++i) {
    memory_[i] = example::must(emulated::allocate(runtime, shape.layer_bytes()), "layer buffer");
    geometries_[i] = {.planes = {memory_[i].data()},
                      .tokens_per_block = kTokensPerBlock,
                      .slot_bytes = kSlotBytes};
    layouts_.push_back(example::must(Layout::make({.layers = 1,
                                                   .planes_per_layer = 1,
                                                   .planes = {memory_[i].data()},
                                                   .block_count = shape.capacity_blocks(),
                                                   .block_stride = kBlockBytes,
                                                   .segment_bytes = kBlockBytes}),
                                     "layout"));
  }
}

}  // namespace aqua::long_context
