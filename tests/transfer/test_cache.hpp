// SPDX-License-Identifier: Apache-2.0
// A KV cache in device memory.
#pragma once

#include "tests/layout/geometry.hpp"
#include "tests/transfer/device_memory.hpp"

namespace aqua::test {

// The cache in device memory, with a margin of canary bytes on both sides.
class TestCache {
 public:
  static constexpr std::size_t kMargin = 192;
  TestCache(device::Device& device, const Geometry& g, unsigned seed)
      : memory(device, g.extent() + 2 * kMargin),
        layout(g.layout(memory.base() + kMargin)),
        model(random_bytes(memory.bytes(), seed)) {
    memory.write(model);
  }
  DeviceMemory memory;
  Layout layout;
  Bytes model;  // what memory should hold
};

}  // namespace aqua::test
