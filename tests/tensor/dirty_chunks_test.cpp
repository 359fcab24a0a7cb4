// SPDX-License-Identifier: Apache-2.0
#include "tensor/dirty_chunks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace aqua::tensor {
namespace {

constexpr std::size_t kChunk = DirtyChunks::kChunkBytes;

class DirtyChunksTest : public ::testing::Test {
 protected:
  void SetUp() override { dirty_.clear(); }
  // What take() copies, as (offset, bytes); each copy keeps its offset on both sides.
  std::vector<std::pair<std::size_t, std::size_t>> taken() {
    std::vector<std::pair<std::size_t, std::size_t>> copies;
    for (const auto& copy : dirty_.take(to_, from_)) {
      EXPECT_EQ(copy.src - from_, copy.dst - to_);
      copies.emplace_back(copy.src - from_, copy.bytes);
    }
    return copies;
  }

  std::byte* const to_ = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);
  const std::byte* const from_ = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 41);
  DirtyChunks dirty_{4 * kChunk + 100};
};

using Copies = std::vector<std::pair<std::size_t, std::size_t>>;

TEST_F(DirtyChunksTest, NothingWrittenIsNothingToCopy) {
  EXPECT_FALSE(dirty_.any());
  EXPECT_EQ(taken(), Copies{});
}

TEST_F(DirtyChunksTest, AWriteDirtiesEveryChunkThatItTouchesAndNoOther) {
  dirty_.mark(2 * kChunk - 1, 2);
  EXPECT_TRUE(dirty_.any());
  EXPECT_EQ(taken(), (Copies{{kChunk, 2 * kChunk}}));
  dirty_.mark(kChunk, kChunk);
  EXPECT_EQ(taken(), (Copies{{kChunk, kChunk}}));
}

TEST_F(DirtyChunksTest, TheLastChunkEndsWithTheTensor) {
  dirty_.mark(4 * kChunk + 99, 1);
  dirty_.mark(0, 1);
  EXPECT_EQ(taken(), (Copies{{0, kChunk}, {4 * kChunk, 100}}));
}

TEST_F(DirtyChunksTest, WhatWasTakenOrClearedIsClean) {
  dirty_.mark(0, 4 * kChunk + 100);
  EXPECT_EQ(taken(), (Copies{{0, 4 * kChunk + 100}}));
  EXPECT_FALSE(dirty_.any());
  dirty_.mark(0, 1);
  dirty_.clear();
  EXPECT_FALSE(dirty_.any());
  EXPECT_EQ(taken(), Copies{});
}

}  // namespace
}  // namespace aqua::tensor
