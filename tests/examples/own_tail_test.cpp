// SPDX-License-Identifier: Apache-2.0
// When the tail of a parcel is in doubt, a process writes only into blocks of its own.
#include "serve/own_tail.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace aqua::prefill_decode {
namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::uint32_t kBlocks = 8;

TEST(OwnTail, IsOfThePartlyFilledBlockAndThoseBehindIt) {
  Parcel parcel{.id = "r", .blocks = {5, 1, 6, 2}, .tokens = 6};
  EXPECT_EQ(blocks_in_doubt(parcel, 4), 0U);
  parcel.tail_in_doubt = true;
  EXPECT_EQ(blocks_in_doubt(parcel, 4), 3U);
  parcel.tokens = 8;
  EXPECT_EQ(blocks_in_doubt(parcel, 4), 2U) << "the second block is full";
  parcel.tokens = 16;
  EXPECT_EQ(blocks_in_doubt(parcel, 4), 0U);
  parcel.tokens = 17;
  EXPECT_EQ(blocks_in_doubt(parcel, 4), 0U) << "more tokens than blocks";
}

TEST(OwnTail, HasTheBytesOfWhatItReplacesInEveryPlane) {
  std::vector<std::byte> memory(2 * kBlocks * kBlockBytes);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::byte>(i / kBlockBytes + 1);
  }
  const Layout layout =
      Layout::make({.layers = 1,
                    .planes_per_layer = 2,
                    .planes = {memory.data(), memory.data() + kBlocks * kBlockBytes},
                    .block_count = kBlocks,
                    .block_stride = kBlockBytes,
                    .axes = BlockAxes::whole(kBlockBytes)})
          .value();
  const auto before = memory;
  const Parcel parcel{.id = "r", .blocks = {5, 1, 6}, .tokens = 6, .tail_in_doubt = true};
  const std::vector<std::uint32_t> own{0, 7};
  EXPECT_EQ(with_own_tail(layout, parcel, own), (std::vector<std::uint32_t>{5, 0, 7}));
  for (std::size_t plane = 0; plane < 2; ++plane) {
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
      const std::uint32_t from = block == 0 ? 1 : block == 7 ? 6 : block;
      for (std::size_t i = 0; i < kBlockBytes; ++i) {
        ASSERT_EQ(memory[(plane * kBlocks + block) * kBlockBytes + i],
                  before[(plane * kBlocks + from) * kBlockBytes + i])
            << "plane " << plane << ", block " << block;
      }
    }
  }
}

}  // namespace
}  // namespace aqua::prefill_decode
