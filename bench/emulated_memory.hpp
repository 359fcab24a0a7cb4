// SPDX-License-Identifier: Apache-2.0
// Memory of an emulated device for benchmarks, which end at the first error.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <utility>

#include "device/memfd/device.hpp"

namespace aqua::bench {

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

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
