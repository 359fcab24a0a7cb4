// SPDX-License-Identifier: Apache-2.0
// Copies by blocks drawn at random, to be laid over host or device memory: two axes inside a block,
// on one side in another order than on the other, or a line there.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/copy.hpp"

namespace aqua::kernels {

class RandomBlocks {
 public:
  // Within kArea bytes from either address on; pieces of at most `largest` bytes.
  RandomBlocks(std::byte* dst, std::byte* src, std::uint64_t largest, std::mt19937& random);
  static constexpr std::uint64_t kArea = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kLargest = 4'500;

  // Its planes and ids lie in host memory, as long as this object. SMs and kernel are the caller's.
  [[nodiscard]] const BlockLaunch& launch() const { return launch_; }
  [[nodiscard]] std::uint32_t planes() const { return planes_; }
  // Calls visit(offset in the destination, offset in the source) for each piece that is moved.
  template <typename Visit>
  void each_piece(Visit visit) const {
    const Blocks& b = launch_.blocks;
    std::uint64_t piece = 0;
    for (std::size_t p = 0; p < planes_; ++p) {
      for (std::size_t i = 0; i < b.blocks; ++i) {
        for (std::size_t o = 0; o < b.outer; ++o) {
          for (std::size_t n = 0; n < b.inner; ++n, ++piece) {
            if (piece < launch_.first || piece - launch_.first >= launch_.count) continue;
            const std::byte* const to = b.dst.planes == nullptr
                                            ? launch_.line + (piece - launch_.first) * b.piece_bytes
                                            : to_.at(p, i, o, n);
            visit(static_cast<std::size_t>(to - dst_),
                  static_cast<std::size_t>(from_.at(p, i, o, n) - src_));
          }
        }
      }
    }
  }

 private:
  // One side: disjoint pieces, half of the blocks of each plane.
  struct Paged {
    std::vector<std::byte*> planes;
    std::vector<std::uint32_t> ids;
    BlockSide side;

    void lay(std::byte* base, const Blocks& blocks, std::uint32_t planes_count, bool transposed,
             std::mt19937& random);
    [[nodiscard]] const std::byte* at(std::size_t p, std::size_t i, std::size_t o,
                                      std::size_t n) const {
      return planes[p] + ids[i] * side.block_stride + o * side.outer_stride + n * side.inner_stride;
    }
  };
  std::byte *dst_, *src_;
  std::uint32_t planes_;
  Paged from_, to_;
  BlockLaunch launch_;
};

}  // namespace aqua::kernels
