// SPDX-License-Identifier: Apache-2.0
#include "layout/block_runs.hpp"

#include <gtest/gtest.h>

#include "tests/layout/geometry.hpp"

namespace aqua::layout {
namespace {

using test::dense, test::Geometry;

BlockRuns make(const Layout& layout, BlockList blocks) {
  return {layout, CheckedBlocks::make(layout, blocks).value()};
}

std::vector<BlockRun> runs_of(const Layout& layout, const std::vector<std::uint32_t>& blocks) {
  const BlockRuns runs = make(layout, blocks);
  if (runs.empty()) return {};
  const auto list = runs.between(0, runs.plane_bytes());
  EXPECT_EQ(list.size(), runs.count());
  EXPECT_EQ(list.data()[list.size()].packed, runs.plane_bytes()) << "the end of the last run";
  return {list.begin(), list.end()};
}

TEST(BlockRuns, AnEmptyListHasNone) {
  const BlockRuns runs = make(dense(), {});
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(runs.count(), 0U);
  EXPECT_EQ(runs.plane_bytes(), 0U);
}

TEST(BlockRuns, OneBlockIsOneRun) {
  EXPECT_EQ(runs_of(dense(), {0}), (std::vector<BlockRun>{{0, 0}}));
  EXPECT_EQ(runs_of(dense(), {63}), (std::vector<BlockRun>{{6300, 0}}));
}

TEST(BlockRuns, ConsecutiveBlocksAreOneRunAndDescendingOnesAreNot) {
  EXPECT_EQ(runs_of(dense(), {5, 6, 7, 8}), (std::vector<BlockRun>{{500, 0}}));
  EXPECT_EQ(runs_of(dense(), {8, 7, 6}), (std::vector<BlockRun>{{800, 0}, {700, 100}, {600, 200}}));
  EXPECT_EQ(runs_of(dense(), {3, 4, 9, 10, 2}),
            (std::vector<BlockRun>{{300, 0}, {900, 200}, {200, 400}}));
}

TEST(BlockRuns, BlocksWithGapsAndSegmentsThatLieApartStayApart) {
  const Layout gaps = Geometry{"", 1, 1, 16, 300, 1, 256, 0, 16 * 300}.layout(
      reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000}));
  EXPECT_EQ(runs_of(gaps, {3, 4}), (std::vector<BlockRun>{{900, 0}, {1200, 256}}));
  const Layout heads = Geometry{"", 1, 1, 4, 10, 2, 10, 40, 80}.layout(
      reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000}));
  EXPECT_EQ(runs_of(heads, {1, 2}), (std::vector<BlockRun>{{10, 0}, {50, 10}, {20, 20}, {60, 30}}));
}

TEST(BlockRuns, ASliceHoldsTheRunsThatItTouches) {
  const BlockRuns runs = make(dense(), std::vector<std::uint32_t>{3, 4, 9, 2});
  const auto count = [&](std::size_t begin, std::size_t end) {
    return runs.between(begin, end).size();
  };
  EXPECT_EQ(count(0, 400), 3U);
  EXPECT_EQ(count(0, 200), 1U);
  EXPECT_EQ(count(0, 201), 2U);
  EXPECT_EQ(count(199, 200), 1U);
  EXPECT_EQ(count(199, 301), 3U);
  EXPECT_EQ(runs.between(200, 300).front(), (BlockRun{900, 200}));
}

}  // namespace
}  // namespace aqua::layout
