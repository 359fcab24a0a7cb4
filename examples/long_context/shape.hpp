// SPDX-License-Identifier: Apache-2.0
// Shape: how large the context is, and what it is made of.
//
// Units: bytes; tokens; blocks of kTokensPerBlock tokens of one layer, keys and values together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::long_context {

inline constexpr std::uint32_t kTokensPerBlock = 16;
inline constexpr unsigned kKvHeads = 4;
inline constexpr unsigned kHeadDim = 64;
inline constexpr unsigned kElementBytes = 2;
inline constexpr std::size_t kPlaneWidth = std::size_t{kKvHeads} * kHeadDim;  // elements of a key
// Bytes of one token in one layer: a key, then a value.
inline constexpr std::size_t kSlotBytes = 2 * kPlaneWidth * kElementBytes;
inline constexpr std::size_t kBlockBytes = kTokensPerBlock * kSlotBytes;
inline constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  // the device's granularity
inline constexpr std::uint32_t kLeastFrames = 3;                 // of a LayerPool

[[nodiscard]] constexpr std::uint32_t blocks_for(std::uint32_t tokens) {
  return (tokens + kTokensPerBlock - 1) / kTokensPerBlock;
}

struct Shape {
  unsigned layers = 0;
  std::uint32_t prompt_tokens = 0;  // a multiple of kTokensPerBlock
  std::uint32_t output_tokens = 0;  // of an answer; then the next one to the same prompt begins

  [[nodiscard]] std::uint32_t capacity_blocks() const {
    return blocks_for(prompt_tokens + output_tokens);
  }
  // Bytes of the device for one layer.
  [[nodiscard]] std::size_t frame_bytes() const {
    return (capacity_blocks() * kBlockBytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes;
  }
  // Bytes of the prompt's KV in all layers: what does not fit the device.
  [[nodiscard]] std::size_t kv_bytes() const {
    return std::size_t{layers} * blocks_for(prompt_tokens) * kBlockBytes;
  }
};

}  // namespace aqua::long_context
