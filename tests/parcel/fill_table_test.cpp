// SPDX-License-Identifier: Apache-2.0
#include "parcel/fill_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace aqua {
namespace {

// So many bytes, and the table after them.
std::vector<std::byte> segment_of(std::size_t bytes, const std::vector<Fill>& fills) {
  std::vector<std::byte> segment(bytes + FillTable::bytes(fills.size()));
  FillTable::write(std::span(segment).subspan(bytes), fills);
  return segment;
}
Code code_of(const std::vector<std::byte>& segment) {
  const auto read = FillTable::read(segment);
  return read.ok() ? Code{} : read.error().code;
}
bool is_refused(const std::vector<std::byte>& segment) {
  return !FillTable::read(segment).ok() && code_of(segment) == Code::invalid_argument;
}

TEST(FillTable, IsReadAsItWasWritten) {
  const std::vector<Fill> fills{
      {{{0, 1}, {0, 120}, {2, 4}}, 0, 100}, {{{1, 1}, {0, 120}, {2, 4}}, 100, 28}, {{}, 128, 0}};
  EXPECT_EQ(FillTable::read(segment_of(128, fills)).value(), fills);
  EXPECT_TRUE(FillTable::read(segment_of(0, {})).value().empty());
}

TEST(FillTable, WhatCannotBeIsRefused) {
  const auto good = segment_of(128, {{{}, 0, 128}});
  EXPECT_TRUE(FillTable::read(good).ok());
  EXPECT_TRUE(is_refused({}));
  EXPECT_TRUE(is_refused(std::vector<std::byte>(4096))) << "no mark";
  auto torn = good;
  torn.pop_back();
  EXPECT_TRUE(is_refused(torn));
  EXPECT_TRUE(is_refused(segment_of(128, {{{}, 0, 129}})));
  EXPECT_TRUE(is_refused(segment_of(128, {{{}, 129, 0}})));
  EXPECT_TRUE(is_refused(segment_of(128, {{{}, 1, ~std::uint64_t{0}}}))) << "beyond all numbers";
  for (const std::uint64_t count : {std::uint64_t{5}, std::uint64_t{FillTable::kMostFills} + 1,
                                    ~std::uint64_t{0}, std::uint64_t{1} << 60}) {
    auto counted = good;
    std::memcpy(counted.data() + counted.size() - 16, &count, sizeof count);
    EXPECT_TRUE(is_refused(counted)) << count;
  }
}

// Whatever is flipped, what is read lies within what was committed.
TEST(FillTable, NamesNothingOutsideOfItsSegment) {
  std::mt19937_64 random(7);
  const std::vector<Fill> fills{{{{0, 1}, {}, {}}, 0, 64}, {{{1, 1}, {}, {}}, 64, 64}};
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto segment = segment_of(128, fills);
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      segment[128 + random() % (segment.size() - 128)] ^= std::byte(1U << random() % 8);
    }
    const auto found = FillTable::read(segment);
    if (!found.ok()) continue;
    ++read;
    for (const Fill& fill : *found) {
      ASSERT_LE(fill.offset, 128U);
      ASSERT_LE(fill.bytes, 128U - fill.offset);
    }
  }
  EXPECT_GT(read, 100) << "hardly any was read";
}

}  // namespace
}  // namespace aqua
