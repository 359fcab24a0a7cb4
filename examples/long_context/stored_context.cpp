// SPDX-License-Identifier: Apache-2.0
#include "stored_context.hpp"

#include <string>

#include "must.hpp"

namespace aqua::long_context {

using example::must;

StoredContext::StoredContext(Runtime& runtime, const Shape& shape) : runtime_(runtime) {
  for (unsigned i = 0; i < shape.layers; ++i) {
    const std::string name = "layer " + std::to_string(i);
    layers_.push_back(must(runtime.allocate({.bytes = shape.layer_bytes(), .name = name}), name));
  }
}

Ticket StoredContext::fetch(unsigned layer, const LayerBuffers& buffers, std::size_t buffer,
                            std::size_t count, Stream stream) {
  AquaTensor& tensor = layers_[layer];
  // While a pin is held the tensor stays, so that its bytes are booked to the right tier.
  const Pin pin = must(tensor.pin(Access::read, stream), "pin");
  fetched_.add(pin.tier(), count * kBlockBytes);
  return must(runtime_.fetch(tensor, buffers.layout(buffer), buffers.blocks(count), stream),
              "fetch of " + tensor.name());
}

Ticket StoredContext::store(unsigned layer, const LayerBuffers& buffers, std::size_t buffer,
                            BlockList blocks, Stream stream) {
  AquaTensor& tensor = layers_[layer];
  stored_.add(tensor.tier(), blocks.size() * kBlockBytes);
  return must(runtime_.offload(buffers.layout(buffer), blocks, tensor, stream,
                               blocks.front() * kBlockBytes),
              "offload of " + tensor.name());
}

void StoredContext::flip_a_byte(Stream stream) {
  Pin pin =
      must(layers_.front().pin(Access::write, stream, {.offset = kBlockBytes, .bytes = 1}), "pin");
  must(emulated::launch(runtime_, stream,
                        [at = pin.data()] { *emulated::kernel_view(at) ^= std::byte{1}; }),
       "launch");
  pin.release();
  must(emulated::synchronize(runtime_, stream), "synchronize");
}

}  // namespace aqua::long_context
