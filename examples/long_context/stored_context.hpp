// SPDX-License-Identifier: Apache-2.0
// StoredContext: where the context lives: an AquaTensor for each layer, in lent memory as far as
// there is any and in the host tier beyond.
//
// Threads: the engine's. The runtime outlives it. Errors: throws Failure.
#pragma once

#include <vector>

#include "aqua/runtime.hpp"
#include "layer_buffers.hpp"
#include "tier_bytes.hpp"

namespace aqua::long_context {

class StoredContext {
 public:
  StoredContext(Runtime& runtime, const Shape& shape);

  // The layer's first `count` blocks into the buffer, in stream order.
  [[nodiscard]] Ticket fetch(unsigned layer, const LayerBuffers& buffers, std::size_t buffer,
                             std::size_t count, Stream stream);
  // These blocks out of the buffer, in stream order; their numbers are consecutive.
  [[nodiscard]] Ticket store(unsigned layer, const LayerBuffers& buffers, std::size_t buffer,
                             BlockList blocks, Stream stream);
  // Changes one byte of the first layer, to see that it is noticed. Waits.
  void flip_a_byte(Stream stream);

  [[nodiscard]] const example::TierBytes& fetched() const { return fetched_; }
  [[nodiscard]] const example::TierBytes& stored() const { return stored_; }

 private:
  Runtime& runtime_;
  std::vector<AquaTensor> layers_;
  example::TierBytes fetched_, stored_;
};

}  // namespace aqua::long_context
