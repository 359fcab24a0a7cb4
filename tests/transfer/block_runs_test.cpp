// SPDX-License-Identifier: Apache-2.0
#include "transfer/block_runs.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/transfer/test_cache.hpp"

namespace aqua::transfer {
namespace {

using test::Geometry;

// Two planes of 64 blocks of 100 bytes without gaps.
Layout dense() {
  return Geometry{"", 2, 1, 64, 100, 1, 100, 0, 6400}.layout(
      reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000}));
}

std::vector<BlockRun> runs_of(const Layout& layout, const std::vector<std::uint32_t>& blocks) {
  const BlockRuns runs = BlockRuns::make(layout, blocks).value();
  EXPECT_EQ(runs.blocks(), blocks.size());
  if (runs.empty()) return {};
  const auto list = runs.between(0, runs.plane_bytes());
  EXPECT_EQ(list.size(), runs.count());
  EXPECT_EQ(list.data()[list.size()].packed, runs.plane_bytes()) << "the end of the last run";
  return {list.begin(), list.end()};
}

std::string refusal(const std::vector<std::uint32_t>& blocks) {
  const auto made = BlockRuns::make(dense(), blocks);
  const auto checked = dense().check(blocks);
  if (made.ok() || checked.ok()) return "";
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  EXPECT_EQ(checked.error().message, made.error().message);
  return made.error().message;
}

TEST(BlockRuns, AnEmptyListHasNone) {
  const BlockRuns runs = BlockRuns::make(dense(), {}).value();
  EXPECT_TRUE(runs.empty());
  EXPECT_EQ(runs.count(), 0U);
  EXPECT_EQ(runs.plane_bytes(), 0U);
  EXPECT_EQ(runs.pieces(2).count(), 0U);
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

TEST(BlockRuns, WhatIsNoBlockOrListedTwiceIsRefusedByName) {
  EXPECT_EQ(refusal({1, 64}), "block list: entry 1 is block 64 of 64");
  EXPECT_EQ(refusal({4'294'967'295}), "block list: entry 0 is block 4294967295 of 64");
  EXPECT_EQ(refusal({1, 2, 3, 2}), "block list: block 2 is listed again at entry 3");
  EXPECT_EQ(refusal({7, 7}), "block list: block 7 is listed again at entry 1");
}

TEST(BlockRuns, ASliceHoldsTheRunsThatItTouches) {
  const BlockRuns runs = BlockRuns::make(dense(), std::vector<std::uint32_t>{3, 4, 9, 2}).value();
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

TEST(BlockRuns, PiecesTellRunsOfSeveralSizesApart) {
  const std::vector<std::uint32_t> blocks{1, 2, 3, 4, 5, 6, 7, 8, 20, 30, 40};
  const Pieces pieces = BlockRuns::make(dense(), blocks).value().pieces(2);
  EXPECT_EQ(pieces.count(), 8U);
  EXPECT_EQ(pieces.bytes(), 2200U);
  EXPECT_EQ(pieces.classes()[6].count, 6U) << "64 to 127 bytes";
  EXPECT_EQ(pieces.classes()[6].bytes, 600U);
  EXPECT_EQ(pieces.classes()[9].count, 2U) << "512 to 1023 bytes";
}

}  // namespace
}  // namespace aqua::transfer
