// SPDX-License-Identifier: Apache-2.0
// A model as layer_pool_bench plays it: its KV, and how long its layers compute.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "aqua/layer_swap/layer_pool.hpp"

namespace aqua::bench {

inline constexpr std::size_t kSlabBytes = std::size_t{2} << 20;

struct Shape {
  std::string name{};
  std::uint32_t layers = 0;
  std::uint32_t planes = 1;  // of a layer
  std::size_t block_bytes = 0;
  std::size_t slabs = 1;                   // of a plane, when every layer has a frame
  std::chrono::nanoseconds layer_time{0};  // what a layer computes, whatever it reads
  std::chrono::nanoseconds block_time{0};  // and for each block that it reads

  [[nodiscard]] std::size_t frame_bytes() const { return slabs * planes * kSlabBytes; }
  [[nodiscard]] std::uint32_t frame_blocks() const {
    return static_cast<std::uint32_t>(slabs * kSlabBytes / block_bytes);
  }
  // Options of a pool that has as many blocks in `frames` frames as all layers' frames hold, and no
  // more.
  [[nodiscard]] LayerPoolOptions pool(std::uint32_t frames) const {
    return {.layers = layers,
            .planes_per_layer = planes,
            .block_bytes = block_bytes,
            .device_bytes = frames * frame_bytes(),
            .frames = frames};
  }
};

// The shape that the parts `links` and `schedules` measure. kSwaps is a layer's swap there, over
// what it computes: between those at which one frame more is needed, with room for the write-backs.
[[nodiscard]] inline Shape twelve_layers(std::chrono::nanoseconds layer_time) {
  return {.name = "12 layers",
          .layers = 12,
          .planes = 2,
          .block_bytes = 32 << 10,
          .layer_time = layer_time};
}
inline constexpr double kSwaps[] = {1.35, 1.75, 2.6};

}  // namespace aqua::bench
