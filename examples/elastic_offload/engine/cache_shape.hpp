// SPDX-License-Identifier: Apache-2.0
// The toy engine's model, as far as its KV goes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::example {

// The shape is that of a small model: 16 KiB a token, 256 KiB a block, where a 7-billion
// model with plain MHA has 512 KiB and 8 MiB.
struct CacheShape {
  static constexpr unsigned kLayers = 16;
  static constexpr unsigned kTokensPerBlock = 16;
  static constexpr unsigned kHeads = 4;
  static constexpr unsigned kHeadDim = 64;
  static constexpr unsigned kElementBytes = 2;
  static constexpr std::size_t kSlotBytes = std::size_t{kHeads} * kHeadDim * kElementBytes;
  static constexpr unsigned kPlanesPerLayer = 2;  // keys and values
  static constexpr std::size_t kPlanes = std::size_t{kPlanesPerLayer} * kLayers;
  static constexpr std::size_t kPlaneBlockBytes = kTokensPerBlock * kSlotBytes;
  static constexpr std::size_t kBlockBytes = kPlanes * kPlaneBlockBytes;  // all planes
};

[[nodiscard]] constexpr std::uint32_t blocks_for(std::uint32_t tokens) {
  return (tokens + CacheShape::kTokensPerBlock - 1) / CacheShape::kTokensPerBlock;
}

}  // namespace aqua::example
