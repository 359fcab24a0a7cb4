// SPDX-License-Identifier: Apache-2.0
// LayerBuffers: the device's memory for the context: two buffers, a layer's keys and values each.
// While one is computed with, the other is fetched into.
//
// Threads: the engine's. Owns: the memory. The runtime outlives it; destroy it when no work on it
// is in flight.
#pragma once

#include <array>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "shape.hpp"
#include "stamps.hpp"

namespace aqua::long_context {

class LayerBuffers {
 public:
  static constexpr std::size_t kCount = 2;

  // Throws Failure when the device has no room.
  LayerBuffers(Runtime& runtime, const Shape& shape);

  [[nodiscard]] const Layout& layout(std::size_t buffer) const { return layouts_[buffer]; }
  [[nodiscard]] const example::CacheGeometry& geometry(std::size_t buffer) const {
    return geometries_[buffer];
  }
  // The first `count` blocks, in order: a layer lies in its buffer as in its tensor.
  [[nodiscard]] BlockList blocks(std::size_t count) const {
    return BlockList(numbers_).first(count);
  }
  [[nodiscard]] BlockList block(std::size_t number) const {
    return BlockList(numbers_).subspan(number, 1);
  }

 private:
  std::array<emulated::Memory, kCount> memory_;
  std::array<example::CacheGeometry, kCount> geometries_;
  std::vector<Layout> layouts_;
  std::vector<std::uint32_t> numbers_;  // 0, 1, 2, ...
};

}  // namespace aqua::long_context
