// SPDX-License-Identifier: Apache-2.0
#include "layout/checked_blocks.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/layout/geometry.hpp"

namespace aqua::layout {
namespace {

using test::dense, test::Geometry;

std::byte* const kBase = reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000});

Pieces plane_of(const Layout& layout, const std::vector<std::uint32_t>& blocks) {
  return CheckedBlocks::make(layout, blocks).value().plane();
}

std::string refusal(const std::vector<std::uint32_t>& blocks) {
  const auto made = CheckedBlocks::make(dense(), blocks);
  const auto checked = dense().check(blocks);
  if (made.ok() || checked.ok()) return "";
  EXPECT_EQ(made.error().code, Code::invalid_argument);
  EXPECT_EQ(checked.error().message, made.error().message);
  return made.error().message;
}

TEST(CheckedBlocks, WhatIsNoBlockOrListedTwiceIsRefusedByName) {
  EXPECT_EQ(refusal({1, 64}), "block list: entry 1 is block 64 of 64");
  EXPECT_EQ(refusal({4'294'967'295}), "block list: entry 0 is block 4294967295 of 64");
  EXPECT_EQ(refusal({1, 2, 3, 2}), "block list: block 2 is listed again at entry 3");
  EXPECT_EQ(refusal({7, 7}), "block list: block 7 is listed again at entry 1");
  EXPECT_EQ(refusal({63, 0}), "");
}

TEST(CheckedBlocks, AnEmptyListHasNoPiece) {
  EXPECT_EQ(plane_of(dense(), {}).count(), 0U);
}

TEST(CheckedBlocks, PiecesTellRunsOfSeveralSizesApart) {
  const Pieces pieces = plane_of(dense(), {1, 2, 3, 4, 5, 6, 7, 8, 20, 30, 40}).times(2);
  EXPECT_EQ(pieces.count(), 8U);
  EXPECT_EQ(pieces.bytes(), 2200U);
  EXPECT_EQ(pieces.classes()[6].count, 6U) << "64 to 127 bytes";
  EXPECT_EQ(pieces.classes()[6].bytes, 600U);
  EXPECT_EQ(pieces.classes()[9].count, 2U) << "512 to 1023 bytes";
}

TEST(CheckedBlocks, BlocksWithGapsAndSegmentsThatLieApartStayApart) {
  const Layout gaps = Geometry{"", 1, 1, 16, 300, 1, 256, 0, 16 * 300}.layout(kBase);
  EXPECT_EQ(plane_of(gaps, {3, 4, 5}).count(), 3U);
  const Layout heads = Geometry{"", 1, 1, 4, 10, 2, 10, 40, 80}.layout(kBase);
  EXPECT_EQ(plane_of(heads, {1, 2}).count(), 4U);
  EXPECT_EQ(plane_of(heads, {1, 2}).bytes(), 40U);
}

}  // namespace
}  // namespace aqua::layout
