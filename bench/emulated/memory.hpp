// SPDX-License-Identifier: Apache-2.0
// Memory of an emulated device for benchmarks.
#pragma once

#include <cstddef>
#include <memory>

#include "device/memfd/device.hpp"
#include "must.hpp"

namespace aqua::bench {

// A slab, mapped for as long as this lives.
struct Memory {
  Memory(device::Device& dev, std::size_t bytes)
      : slab(must(dev.create_slab(bytes))), range(must(dev.reserve(bytes))) {
    must(dev.map(*range, 0, *slab));
  }
  [[nodiscard]] std::byte* base() const { return range->base(); }
  std::unique_ptr<device::Slab> slab;
  std::unique_ptr<device::AddressRange> range;
};

}  // namespace aqua::bench
