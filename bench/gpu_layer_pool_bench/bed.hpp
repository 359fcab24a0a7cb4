// SPDX-License-Identifier: Apache-2.0
// What the parts of gpu_layer_pool_bench run on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu_layer_pool_bench/engine.hpp"

namespace aqua::bench {

struct Bed {
  std::unique_ptr<Runtime> runtime;
  std::unique_ptr<DeviceWork> work;
  Shape shape{};       // 24 layers
  unsigned steps = 0;  // of a measurement
  unsigned rounds = 0;
};
inline constexpr std::uint32_t kFrames = 14;  // of 24 layers: 12 stream through 2 frames

// `device`: emu:0, or cuda:0, whose host tier is page-locked when this returns. `unavailable`, with
// the reason: there is no such device.
[[nodiscard]] Result<Bed> make_bed(const std::string& device, unsigned rounds, bool quick);

// Seconds that all blocks of a layer take to come in from where layers are away.
[[nodiscard]] double seconds_of_swap(Bed& bed);

}  // namespace aqua::bench
