// SPDX-License-Identifier: Apache-2.0
#include "lending/suballocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/lending/suballocator/arena.hpp"

namespace aqua::lending {
namespace {

using namespace arena_of_regions;

TEST(Suballocator, WithoutRegionsHasNothingToGive) {
  Suballocator arena = make(4 * kArenaSlab);
  const auto refused = arena.allocate(1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("0 bytes are free"), std::string::npos);
  EXPECT_EQ(arena.stats().free_bytes, 0U);
}

TEST(Suballocator, RefusesAlignmentsAndCapacitiesItCannotKeep) {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{256}, std::size_t{768}}) {
    const auto made = Suballocator::create(kArenaSlab, {.alignment = alignment});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_argument);
  }
  for (const std::size_t capacity :
       {std::size_t{0}, std::size_t{513}, std::numeric_limits<std::size_t>::max() - 511}) {
    const auto made = Suballocator::create(capacity);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_argument);
  }
}

TEST(Suballocator, RoundsUpToTheAlignmentAndStartsOnIt) {
  Suballocator arena = make(1 << 20, 4096);
  ASSERT_TRUE(arena.add_region(0, 1 << 20).ok());
  const auto small = arena.allocate(1);
  const auto odd = arena.allocate(4097);
  const auto exact = arena.allocate(4096);
  ASSERT_TRUE(small.ok() && odd.ok() && exact.ok());
  EXPECT_EQ(small->bytes, 4096U);
  EXPECT_EQ(odd->bytes, 8192U);
  EXPECT_EQ(exact->bytes, 4096U);
  for (const auto& a : {*small, *odd, *exact}) EXPECT_EQ(a.offset % 4096, 0U);
}

TEST(Suballocator, ZeroBytesIsAMistakeOfTheCaller) {
  Suballocator arena = make(kArenaSlab);
  const auto refused = arena.allocate(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
}

TEST(Suballocator, SizesThatWouldOverflowAreExhaustedNotWrapped) {
  Suballocator arena = make(4 * kArenaSlab);
  ASSERT_TRUE(arena.add_region(0, 4 * kArenaSlab).ok());
  for (const std::size_t bytes :
       {4 * kArenaSlab + 1, std::numeric_limits<std::size_t>::max(),
        std::numeric_limits<std::size_t>::max() - 510, std::size_t{1} << 63}) {
    const auto refused = arena.allocate(bytes);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  }
  EXPECT_TRUE(arena.allocate(4 * kArenaSlab).ok());
}

TEST(Suballocator, RegionsMustBeAlignedInsideAndDisjoint) {
  Suballocator arena = make(4 * kArenaSlab);
  expect_code(arena.add_region(1, kArenaSlab), Code::invalid_argument);
  expect_code(arena.add_region(0, 0), Code::invalid_argument);
  expect_code(arena.add_region(0, kGranule + 1), Code::invalid_argument);
  expect_code(arena.add_region(3 * kArenaSlab, 2 * kArenaSlab), Code::invalid_argument);
  expect_code(arena.add_region(4 * kArenaSlab, std::numeric_limits<std::size_t>::max() - 511),
              Code::invalid_argument);
  ASSERT_TRUE(arena.add_region(kArenaSlab, kArenaSlab).ok());
  expect_code(arena.add_region(kArenaSlab, kArenaSlab), Code::already_exists);
  expect_code(arena.add_region(0, kArenaSlab + kGranule), Code::already_exists);
  expect_code(arena.add_region(2 * kArenaSlab - kGranule, kArenaSlab), Code::already_exists);
  EXPECT_TRUE(arena.add_region(0, kArenaSlab).ok());
  EXPECT_TRUE(arena.add_region(2 * kArenaSlab, kArenaSlab).ok());
  EXPECT_EQ(arena.stats().free_blocks, 1U);
}

TEST(Suballocator, AnAllocationSpansNeighbouringRegionsAddedInAnyOrder) {
  Suballocator arena = make(3 * kArenaSlab);
  ASSERT_TRUE(arena.add_region(2 * kArenaSlab, kArenaSlab).ok());
  ASSERT_TRUE(arena.add_region(0, kArenaSlab).ok());
  EXPECT_EQ(arena.allocate(kArenaSlab + 1).error().code, Code::resource_exhausted);
  ASSERT_TRUE(arena.add_region(kArenaSlab, kArenaSlab).ok());
  const auto spanning = arena.allocate(3 * kArenaSlab);
  ASSERT_TRUE(spanning.ok());
  EXPECT_EQ(spanning->offset, 0U);
  for (std::size_t slab = 0; slab < 3; ++slab) {
    EXPECT_EQ(arena.allocations_in(slab * kArenaSlab, kArenaSlab), std::vector{*spanning});
    EXPECT_FALSE(arena.region_empty(slab * kArenaSlab, kArenaSlab));
  }
}

TEST(Suballocator, FreeingTwiceOrSomethingElseIsRefusedAndChangesNothing) {
  Suballocator arena = make(kArenaSlab);
  ASSERT_TRUE(arena.add_region(0, kArenaSlab).ok());
  const auto first = arena.allocate(1024);
  ASSERT_TRUE(first.ok());
  Allocation wrong = *first;
  wrong.offset += kGranule;
  expect_code(arena.free(wrong), Code::invalid_argument);
  wrong = *first;
  wrong.bytes += kGranule;
  expect_code(arena.free(wrong), Code::invalid_argument);
  wrong = *first;
  wrong.node = 12345;
  expect_code(arena.free(wrong), Code::invalid_argument);
  EXPECT_EQ(arena.stats().allocated_bytes, 1024U);
  ASSERT_TRUE(arena.free(*first).ok());
  expect_code(arena.free(*first), Code::invalid_argument);

  const auto again = arena.allocate(1024);  // the same place, the same header
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->offset, first->offset);
  expect_code(arena.free(*first), Code::invalid_argument);
  EXPECT_TRUE(arena.free(*again).ok());
}

TEST(Suballocator, ARetiredRegionGivesNothingAndEmptiesAsItsBlocksAreFreed) {
  Suballocator arena = make(2 * kArenaSlab);
  ASSERT_TRUE(arena.add_region(0, kArenaSlab).ok());
  ASSERT_TRUE(arena.add_region(kArenaSlab, kArenaSlab).ok());
  const auto inside = arena.allocate(kArenaSlab / 2);  // in the first slab
  const auto spanning = arena.allocate(kArenaSlab);    // across the boundary
  ASSERT_TRUE(inside.ok() && spanning.ok());
  ASSERT_TRUE(arena.retire_region(0, kArenaSlab).ok());
  ASSERT_TRUE(arena.retire_region(0, kArenaSlab).ok());  // twice does nothing
  EXPECT_EQ(arena.stats().retired_bytes, kArenaSlab);
  EXPECT_EQ(arena.stats().free_bytes, kArenaSlab / 2);
  EXPECT_EQ(arena.allocations_in(0, kArenaSlab), (std::vector{*inside, *spanning}));

  ASSERT_TRUE(arena.free(*inside).ok());
  EXPECT_EQ(arena.stats().free_bytes, kArenaSlab / 2);  // it left, rather than coming back
  expect_code(arena.remove_region(0, kArenaSlab), Code::failed_precondition);
  ASSERT_TRUE(arena.free(*spanning).ok());
  EXPECT_EQ(arena.stats().free_bytes, kArenaSlab);  // its half in the second slab came back
  EXPECT_TRUE(arena.region_empty(0, kArenaSlab));
  EXPECT_TRUE(arena.remove_region(0, kArenaSlab).ok());
  EXPECT_EQ(arena.stats().retired_bytes, 0U);
  EXPECT_EQ(arena.allocate(kArenaSlab + 1).error().code, Code::resource_exhausted);
}

TEST(Suballocator, ABlockAcrossTwoRetiredRegionsLeavesThroughBoth) {
  Suballocator arena = make(4 * kArenaSlab);
  for (std::size_t slab = 0; slab < 4; ++slab) {
    ASSERT_TRUE(arena.add_region(slab * kArenaSlab, kArenaSlab).ok());
  }
  const auto all = arena.allocate(4 * kArenaSlab);
  ASSERT_TRUE(all.ok());
  for (const std::size_t slab : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    ASSERT_TRUE(arena.retire_region(slab * kArenaSlab, kArenaSlab).ok());
  }
  ASSERT_TRUE(arena.free(*all).ok());
  EXPECT_EQ(arena.stats().free_bytes, kArenaSlab);
  EXPECT_EQ(arena.stats().free_blocks, 1U);
  const auto rest = arena.allocate(kArenaSlab);
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->offset, 2 * kArenaSlab);
}

TEST(Suballocator, ARegionMayReturnOnceRemovedAndNotBefore) {
  Suballocator arena = make(2 * kArenaSlab);
  ASSERT_TRUE(arena.add_region(0, kArenaSlab).ok());
  expect_code(arena.retire_region(kArenaSlab, kArenaSlab), Code::not_found);
  expect_code(arena.retire_region(0, kArenaSlab / 2), Code::not_found);
  expect_code(arena.remove_region(0, kArenaSlab), Code::failed_precondition);
  ASSERT_TRUE(arena.retire_region(0, kArenaSlab).ok());
  expect_code(arena.add_region(0, kArenaSlab), Code::already_exists);
  ASSERT_TRUE(arena.remove_region(0, kArenaSlab).ok());
  expect_code(arena.remove_region(0, kArenaSlab), Code::not_found);
  ASSERT_TRUE(arena.add_region(0, 2 * kArenaSlab).ok());  // another size is fine
  EXPECT_TRUE(arena.allocate(2 * kArenaSlab).ok());
}

TEST(Suballocator, FragmentationIsTheShareOfFreeBytesOutsideTheLargestBlock) {
  Suballocator arena = make(4 * kGranule);
  ASSERT_TRUE(arena.add_region(0, 4 * kGranule).ok());
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.0);
  std::vector<Allocation> blocks;
  for (int i = 0; i < 4; ++i) {
    auto block = arena.allocate(kGranule);
    ASSERT_TRUE(block.ok());
    blocks.push_back(*block);
  }
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.0);  // nothing free: nothing fragmented
  ASSERT_TRUE(arena.free(blocks[0]).ok());
  ASSERT_TRUE(arena.free(blocks[2]).ok());
  EXPECT_EQ(arena.stats().external_fragmentation(), 0.5);
  EXPECT_EQ(arena.stats().free_blocks, 2U);
}

TEST(Suballocator, FindsTheFirstBlockOfARangeAcrossPagesOfItsIndex) {
  // Blocks larger and smaller than the 2 MiB pages by which the arena is searched.
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  Suballocator arena = make(64 * kMiB);
  ASSERT_TRUE(arena.add_region(0, 64 * kMiB).ok());
  std::vector<Allocation> all;
  for (const std::size_t bytes : {9 * kMiB, kMiB, 512 * std::size_t{1}, 11 * kMiB, 3 * kMiB}) {
    const auto got = arena.allocate(bytes);
    ASSERT_TRUE(got.ok());
    all.push_back(*got);
  }
  for (const Allocation& a : all) {
    EXPECT_EQ(arena.allocations_in(a.offset, 1), std::vector{a});
    EXPECT_EQ(arena.allocations_in(a.offset + a.bytes - 1, 1), std::vector{a});
    EXPECT_EQ(arena.allocations_in(a.offset + a.bytes / 2, 1), std::vector{a});
  }
  EXPECT_EQ(arena.allocations_in(0, 64 * kMiB), all);
  EXPECT_TRUE(arena.allocations_in(64 * kMiB, 1).empty());
  EXPECT_TRUE(arena.region_empty(40 * kMiB, std::numeric_limits<std::size_t>::max()));
}

}  // namespace
}  // namespace aqua::lending
