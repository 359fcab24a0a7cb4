// SPDX-License-Identifier: Apache-2.0
// KvCache: the toy engine's paged KV cache on its emulated GPU: one plane of keys and one of
// values per layer, and the list of blocks that no sequence uses.
//
// Threads: the engine's. Owns: the planes. The runtime outlives it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "stamps.hpp"

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
  static constexpr std::size_t kPlanes = std::size_t{2} * kLayers;
  static constexpr std::size_t kBlockBytes = kPlanes * kTokensPerBlock * kSlotBytes;  // all planes
};

[[nodiscard]] constexpr std::uint32_t blocks_for(std::uint32_t tokens) {
  return (tokens + CacheShape::kTokensPerBlock - 1) / CacheShape::kTokensPerBlock;
}

class KvCache {
 public:
  // Throws Failure when the device has no room for `blocks`.
  KvCache(Runtime& runtime, std::uint32_t blocks);

  // `count` blocks, least recently used first; there must be that many.
  [[nodiscard]] std::vector<std::uint32_t> take(std::uint32_t count);
  void give_back(std::vector<std::uint32_t>& blocks);  // and empties the list
  [[nodiscard]] std::uint32_t free_blocks() const {
    return static_cast<std::uint32_t>(free_.size());
  }
  [[nodiscard]] std::uint32_t blocks() const { return blocks_; }

  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const CacheGeometry& geometry() const { return geometry_; }

 private:
  std::uint32_t blocks_;
  std::vector<emulated::Memory> memory_;  // a plane each
  CacheGeometry geometry_;
  Layout layout_;
  std::deque<std::uint32_t> free_;
};

}  // namespace aqua::example
