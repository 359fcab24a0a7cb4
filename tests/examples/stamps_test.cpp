// SPDX-License-Identifier: Apache-2.0
// The demonstration's verdict is worth as much as its stamps: any change of any byte shows.
#include "stamps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace aqua::example {
namespace {

constexpr std::size_t kPlanes = 4;
constexpr std::uint32_t kBlocks = 6;

// A cache in plain memory, which kernels on this thread may follow.
class Stamps : public ::testing::Test {
 protected:
  Stamps() {
    cache_.tokens_per_block = 4;
    cache_.slot_bytes = 64;
    for (auto& plane : memory_) {
      plane.resize(kBlocks * cache_.block_bytes());
      cache_.planes.push_back(plane.data());
    }
  }
  [[nodiscard]] SequenceView view() const { return {7, 42, tokens_, blocks_}; }
  void prefill() { write_stamps(cache_, view(), 0, 3 * cache_.tokens_per_block); }
  std::byte* block(std::size_t plane, std::size_t number) {
    return memory_[plane].data() + number * cache_.block_bytes();
  }

  std::array<std::vector<std::byte>, kPlanes> memory_;
  CacheGeometry cache_;
  std::uint32_t tokens_ = 10;  // the last block has two empty slots
  std::vector<std::uint32_t> blocks_{4, 0, 3};
};

TEST_F(Stamps, WhatWasWrittenMatches) {
  prefill();
  EXPECT_EQ(count_mismatches(cache_, view()), 0U);
}

TEST_F(Stamps, AnyFlippedByteOfTheSequenceShows) {
  prefill();
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    for (const std::uint32_t number : blocks_) {
      for (std::size_t i = 0; i < cache_.block_bytes(); i += 7) {
        std::byte& byte = block(plane, number)[i];
        byte ^= std::byte{0x10};
        ASSERT_EQ(count_mismatches(cache_, view()), kWordBytes)
            << plane << ' ' << number << ' ' << i;
        byte ^= std::byte{0x10};
      }
    }
  }
}

TEST_F(Stamps, OtherBlocksAreNotLookedAt) {
  prefill();
  for (const std::uint32_t other : {1U, 2U, 5U}) *block(0, other) ^= std::byte{1};
  EXPECT_EQ(count_mismatches(cache_, view()), 0U);
}

TEST_F(Stamps, SwappedBlocksAndPlanesShow) {
  prefill();
  std::swap_ranges(block(1, 4), block(1, 4) + cache_.block_bytes(), block(1, 0));
  EXPECT_EQ(count_mismatches(cache_, view()), 2 * cache_.block_bytes());
  prefill();
  std::swap_ranges(block(1, 3), block(1, 3) + cache_.block_bytes(), block(2, 3));
  EXPECT_EQ(count_mismatches(cache_, view()), 2 * cache_.block_bytes());
}

TEST_F(Stamps, BlocksOfAnotherSequenceOrTenantShow) {
  prefill();
  const std::size_t all = kPlanes * blocks_.size() * cache_.block_bytes();
  SequenceView other = view();
  other.sequence = 43;
  EXPECT_EQ(count_mismatches(cache_, other), all);
  other = view();
  other.tenant = 8;
  EXPECT_EQ(count_mismatches(cache_, other), all);
}

TEST_F(Stamps, TokensMissingFromAnOldCopyShow) {
  prefill();
  ++tokens_;
  EXPECT_EQ(count_mismatches(cache_, view()), kPlanes * cache_.slot_bytes);
  write_stamps(cache_, view(), tokens_ - 1, tokens_);
  EXPECT_EQ(count_mismatches(cache_, view()), 0U);
}

TEST(Words, AnyDifferenceFromTheNameOrFromZeroIsCounted) {
  std::vector<std::byte> memory(4096);
  EXPECT_EQ(count_nonzero_words(memory), 0U);
  memory[4095] = std::byte{1};
  EXPECT_EQ(count_nonzero_words(memory), 1U);
  fill_words(memory, 5);
  EXPECT_EQ(count_wrong_words(memory, 5), 0U);
  EXPECT_EQ(count_wrong_words(memory, 6), memory.size() / kWordBytes);
  memory[8] ^= std::byte{1};
  EXPECT_EQ(count_wrong_words(memory, 5), 1U);
}

}  // namespace
}  // namespace aqua::example
