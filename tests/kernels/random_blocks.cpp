// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/random_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace aqua::kernels {
namespace {

unsigned below(std::mt19937& random, std::uint64_t n) {
  return static_cast<unsigned>(random() % n);
}

}  // namespace

void RandomBlocks::Paged::lay(std::byte* base, const Blocks& b, std::uint32_t planes_count,
                              bool transposed, std::mt19937& random) {
  // Pieces of whole words lie on whole words, as bulk copies want them.
  const std::uint64_t gap = std::uint64_t{below(random, 3)} * (b.piece_bytes % 16 == 0 ? 16 : 1);
  const std::uint64_t step = b.piece_bytes + gap;
  side.inner_stride = transposed ? step * b.outer : step;
  side.outer_stride = transposed ? step : step * b.inner;
  side.block_stride = step * b.outer * b.inner + gap;
  ids.resize(std::size_t{2} * b.blocks);
  std::iota(ids.begin(), ids.end(), 0U);
  std::shuffle(ids.begin(), ids.end(), random);
  const std::uint64_t pitch = side.block_stride * ids.size() + gap;
  ids.resize(b.blocks);
  for (std::uint32_t p = 0; p < planes_count; ++p) planes.push_back(base + p * pitch);
  std::shuffle(planes.begin(), planes.end(), random);
  side.planes = planes.data();
  side.ids = ids.data();
  EXPECT_LE(pitch * planes_count, kArea);
}

RandomBlocks::RandomBlocks(std::byte* dst, std::byte* src, std::uint64_t largest,
                           std::mt19937& random)
    : dst_(dst), src_(src), planes_(1 + below(random, 3)) {
  Blocks& blocks = launch_.blocks;
  blocks.blocks = 1 + below(random, 4);
  blocks.outer = 1 + below(random, 3);
  blocks.inner = 1 + below(random, 3);
  blocks.piece_bytes = 1 + below(random, largest);
  if (below(random, 2) == 0) blocks.piece_bytes = (blocks.piece_bytes + 15) / 16 * 16;
  const std::uint64_t all = std::uint64_t{planes_} * blocks.blocks * blocks.outer * blocks.inner;
  launch_.first = below(random, all);
  launch_.count = 1 + below(random, all - launch_.first);
  launch_.line = dst + (blocks.piece_bytes % 16 == 0 ? 16 : 3);
  from_.lay(src, blocks, planes_, false, random);
  to_.lay(dst, blocks, planes_, below(random, 2) == 0, random);
  blocks.src = from_.side;
  if (below(random, 2) == 0) blocks.dst = to_.side;  // else a line
}

}  // namespace aqua::kernels
