// SPDX-License-Identifier: Apache-2.0
// What an engine serves in parts `adaptive`, `halved` and `burst`: a model and its link.
#pragma once

#include <vector>

#include "layer_pool_bench/effort.hpp"
#include "layer_pool_bench/shape.hpp"

namespace aqua::bench {

struct Scene {
  Shape shape{};
  double link_bytes_per_second = 0;
};

// Four, of 8 to 16 layers: a link that bears any number of frames, one that bears half of them, the
// same with layers that compute longer the more blocks they read, and a slow one.
[[nodiscard]] std::vector<Scene> scenes(const Effort& effort);

}  // namespace aqua::bench
