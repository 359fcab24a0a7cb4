// SPDX-License-Identifier: Apache-2.0
// KV caches of many shapes, and a naive model of them: one byte at a time, straight from the
// address formula of aqua/layout.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "aqua/layout.hpp"

namespace aqua::test {

struct Geometry {
  std::string name;
  unsigned layers = 1;
  unsigned planes_per_layer = 1;
  std::uint32_t block_count = 1;
  std::size_t block_stride = 1;
  unsigned segments = 1;
  std::size_t segment_bytes = 1;
  std::size_t segment_stride = 1;
  std::size_t plane_pitch = 1;  // from one plane's base to the next

  [[nodiscard]] std::size_t plane_bytes() const {
    return (block_count - 1) * block_stride + (segments - 1) * segment_stride + segment_bytes;
  }
  [[nodiscard]] std::size_t extent() const {
    return (layers * planes_per_layer - 1) * plane_pitch + plane_bytes();
  }
  [[nodiscard]] Layout layout(std::byte* base) const {
    LayoutSpec spec{.layers = layers,
                    .planes_per_layer = planes_per_layer,
                    .block_count = block_count,
                    .block_stride = block_stride,
                    .axes = {.heads = {segments, segment_stride}, .run_bytes = segment_bytes}};
    for (unsigned p = 0; p < layers * planes_per_layer; ++p) {
      spec.planes.push_back(base + p * plane_pitch);
    }
    return Layout::make(std::move(spec)).value();
  }
  friend std::ostream& operator<<(std::ostream& out, const Geometry& g) { return out << g.name; }
};

// Two planes of 64 blocks of 100 bytes without gaps, at an address that nothing reads.
inline Layout dense() {
  return Geometry{"", 2, 1, 64, 100, 1, 100, 0, 6400}.layout(
      reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000}));
}

inline std::vector<Geometry> geometries() {
  return {
      {"Mha", 4, 2, 24, 4096, 1, 4096, 0, 24 * 4096 + 256},
      {"Gqa", 3, 2, 40, 1024, 1, 1024, 0, 40 * 1024},
      {"Mla", 5, 1, 33, 1152, 1, 1152, 0, 33 * 1152 + 64},
      {"HeadsOutermost", 2, 2, 19, 512, 4, 512, 19 * 512, 4 * 19 * 512},
      {"LayersWithinBlocks", 6, 1, 17, 6 * 640, 1, 640, 0, 640},
      {"Odd17", 2, 2, 50, 17, 1, 17, 0, 50 * 17 + 3},
      {"Odd4097InGaps", 2, 1, 11, 5000, 1, 4097, 0, 11 * 5000 + 1},
      {"OddSegments", 3, 1, 13, 700, 3, 61, 200, 13 * 700 + 5},
      {"ManyBuffersLong", 2, 2, 16, 300'001, 1, 300'001, 0, 16 * 300'001},
  };
}

inline std::vector<std::uint32_t> some_blocks(const Geometry& g, std::size_t n, unsigned seed) {
  std::vector<std::uint32_t> all(g.block_count);
  std::iota(all.begin(), all.end(), 0U);
  std::shuffle(all.begin(), all.end(), std::minstd_rand(seed));
  all.resize(n);
  if (n > 3)
    std::sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n / 2));  // neighbours
  return all;
}

// Calls visit(offset in the cache, offset in the packed form) for every byte.
template <typename Visit>
void for_each_byte(const Geometry& g, BlockList blocks, Visit visit) {
  std::size_t packed = 0;
  for (unsigned p = 0; p < g.layers * g.planes_per_layer; ++p) {
    for (const std::uint32_t block : blocks) {
      for (unsigned s = 0; s < g.segments; ++s) {
        const std::size_t run = p * g.plane_pitch + block * g.block_stride + s * g.segment_stride;
        for (std::size_t b = 0; b < g.segment_bytes; ++b) visit(run + b, packed++);
      }
    }
  }
}

}  // namespace aqua::test
