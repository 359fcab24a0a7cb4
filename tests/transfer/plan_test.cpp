// SPDX-License-Identifier: Apache-2.0
#include "transfer/plan.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "tests/transfer/test_cache.hpp"

namespace aqua::transfer {
namespace {

using device::CopySegment;
using test::Geometry;

std::byte* at(std::uintptr_t address) {
  return reinterpret_cast<std::byte*>(address);
}
std::byte* const kCache = at(0x1000000);
std::byte* const kTensor = at(0x9000000);

using ByteMap = std::map<const std::byte*, const std::byte*>;  // destination <- source

ByteMap by_byte(const std::vector<CopySegment>& copies) {
  ByteMap map;
  for (const CopySegment& copy : copies) {
    for (std::size_t i = 0; i < copy.bytes; ++i) {
      EXPECT_TRUE(map.emplace(copy.dst + i, copy.src + i).second) << "written twice";
    }
  }
  return map;
}

ByteMap naive(const Geometry& g, BlockList blocks, std::size_t begin, std::size_t end,
              Direction direction) {
  ByteMap map;
  test::for_each_byte(g, blocks, [&](std::size_t cache, std::size_t packed) {
    if (packed < begin || packed >= end) return;
    const std::byte* in_cache = kCache + cache;
    const std::byte* in_tensor = kTensor + (packed - begin);
    if (direction == Direction::offload) {
      map.emplace(in_tensor, in_cache);
    } else {
      map.emplace(in_cache, in_tensor);
    }
  });
  return map;
}

std::vector<CopySegment> planned(const Layout& layout, BlockList blocks, std::size_t begin,
                                 std::size_t end, Direction direction, std::size_t limit) {
  const layout::BlockRuns runs(layout, layout::CheckedBlocks::make(layout, blocks).value());
  std::vector<CopySegment> copies(7);  // what an earlier batch has left
  plan({layout, runs, begin, end, kTensor}, direction, limit, copies);
  return copies;
}

class Plan : public ::testing::TestWithParam<Geometry> {};

TEST_P(Plan, MovesTheBytesOfTheNaiveReferenceForAnySlice) {
  Geometry g = GetParam();
  if (g.segment_bytes > 100'000) g.segment_bytes = g.block_stride = 999;  // the map is slow
  const Layout layout = g.layout(kCache);
  std::minstd_rand random(11);
  for (unsigned round = 0; round < 6; ++round) {
    const auto blocks = test::some_blocks(g, 1 + random() % 5, round);
    const std::size_t all = layout.packed_bytes(blocks.size());
    const std::size_t begin = round == 0 ? 0 : random() % all;
    const std::size_t end = round == 0 ? all : begin + random() % (all - begin + 1);
    const std::size_t limit = round % 2 == 0 ? std::size_t{1} << 30 : 1 + random() % 3000;
    for (const Direction direction : {Direction::offload, Direction::fetch}) {
      const auto copies = planned(layout, blocks, begin, end, direction, limit);
      const std::size_t plane_bytes = all / layout.spec().planes.size();
      const auto packed_offset = [&](const CopySegment& copy) {
        const std::byte* packed = direction == Direction::offload ? copy.dst : copy.src;
        return begin + static_cast<std::size_t>(packed - kTensor);
      };
      EXPECT_EQ(by_byte(copies), naive(g, blocks, begin, end, direction));
      for (std::size_t i = 0; i < copies.size(); ++i) {
        EXPECT_GT(copies[i].bytes, 0U);
        EXPECT_LE(copies[i].bytes, limit);
        const bool begins_plane = packed_offset(copies[i]) % plane_bytes == 0;
        if (i == 0 || copies[i - 1].bytes == limit || begins_plane) continue;
        EXPECT_FALSE(copies[i - 1].dst + copies[i - 1].bytes == copies[i].dst &&
                     copies[i - 1].src + copies[i - 1].bytes == copies[i].src)
            << "neighbours " << i - 1 << " and " << i << " are not merged";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Plan, ::testing::ValuesIn(test::geometries()),
                         [](const auto& test) { return test.param.name; });

TEST(PlanMerging, NeighbouringBlocksBecomeOneCopyPerPlane) {
  const Geometry g{"", 2, 2, 16, 256, 1, 256, 0, 16 * 256 + 64};
  const Layout layout = g.layout(kCache);
  const std::uint32_t blocks[] = {3, 4, 5, 9, 10, 2};
  const auto copies =
      planned(layout, blocks, 0, layout.packed_bytes(6), Direction::offload, std::size_t{1} << 20);
  ASSERT_EQ(copies.size(), 4U * 3U);
  EXPECT_EQ(copies[0].bytes, 3U * 256U);
  EXPECT_EQ(copies[1].bytes, 2U * 256U);
}

TEST(PlanMerging, GapsBetweenBlocksAreNotCopied) {
  const Geometry g{"", 1, 1, 16, 300, 1, 256, 0, 16 * 300};
  const Layout layout = g.layout(kCache);
  const std::uint32_t blocks[] = {3, 4, 5};
  EXPECT_EQ(planned(layout, blocks, 0, 3 * 256, Direction::fetch, 1 << 20).size(), 3U);
}

TEST(PlanSpeed, AHundredThousandPiecesTakeMillisecondsNotMore) {
  const Geometry g{"", 50, 2, 1000, 64, 1, 32, 0, 1000 * 64};
  const Layout layout = g.layout(kCache);
  const auto blocks = test::some_blocks(g, 1000, 1);
  const auto start = std::chrono::steady_clock::now();
  const auto copies = planned(layout, blocks, 0, layout.packed_bytes(1000), Direction::offload,
                              std::size_t{1} << 20);
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(copies.size(), 100'000U);
  // About 1 ms; the bound only catches a plan that is not linear.
  EXPECT_LT(took, std::chrono::seconds(1));
}

}  // namespace
}  // namespace aqua::transfer
