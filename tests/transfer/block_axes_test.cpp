// SPDX-License-Identifier: Apache-2.0
#include "transfer/block_axes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "device/pieces.hpp"
#include "tests/transfer/random_pages.hpp"
#include "tests/transfer/test_cache.hpp"

namespace aqua::transfer {
namespace {

using test::Bytes;
using test::each_run;
using test::PagesShape;
using test::random_bytes;
using test::RandomPages;

// Every piece of the copy, as a device moves it.
void run(const device::BlockCopy& copy, std::byte* line) {
  device::each_piece(copy, {0, copy.pieces(), line}, [](const device::CopySegment& piece) {
    std::memcpy(piece.dst, piece.src, piece.bytes);
  });
}

TEST(BlockAxes, TenThousandRandomPairsOfCachesMoveAsANaiveCopyDoes) {
  std::mt19937 random(3);
  for (unsigned round = 0; round < 10'000; ++round) {
    const PagesShape shape(random);
    const RandomPages from(shape, random);
    const RandomPages to(shape, random);
    Bytes source = random_bytes(from.extent(), 2 * round);
    Bytes target = random_bytes(to.extent(), 2 * round + 1);
    Bytes expected = target;
    each_run(shape, to, from, [&](std::size_t dst, std::size_t src) {
      std::memcpy(&expected[dst], &source[src], shape.bytes);
    });
    const Layout dst = to.layout(target.data());
    const Layout src = from.layout(source.data());
    const auto dst_blocks = layout::CheckedBlocks::make(dst, to.blocks()).value();
    const auto src_blocks = layout::CheckedBlocks::make(src, from.blocks()).value();
    run(pair({dst, dst_blocks, to.part()}, {src, src_blocks, from.part()}).value(), nullptr);
    ASSERT_TRUE(target == expected) << "round " << round;
  }
}

TEST(BlockAxes, APartOfEachBlockIsPackedInTheOrderOfTheBlock) {
  std::mt19937 random(4);
  for (unsigned round = 0; round < 2'000; ++round) {
    const PagesShape shape(random);
    const RandomPages pages(shape, random);
    Bytes cache = random_bytes(pages.extent(), round);
    Bytes packed;
    pages.each_packed([&](std::size_t at, std::size_t) {
      packed.insert(packed.end(), &cache[at], &cache[at] + shape.bytes);
    });
    const Layout layout = pages.layout(cache.data());
    const auto blocks = layout::CheckedBlocks::make(layout, pages.blocks()).value();
    Bytes line(packed.size());
    run(pack({layout, blocks, pages.part()}, Direction::offload).value(), line.data());
    ASSERT_TRUE(line == packed) << "round " << round;

    line = random_bytes(packed.size(), round + 1);
    Bytes expected = cache;
    pages.each_packed([&](std::size_t at, std::size_t in_line) {
      std::memcpy(&expected[at], &line[in_line], shape.bytes);
    });
    run(pack({layout, blocks, pages.part()}, Direction::fetch).value(), line.data());
    ASSERT_TRUE(cache == expected) << "round " << round;
  }
}

// Two planes of 8 blocks: 4 tokens of 2 heads of 16 bytes.
class OneCache : public testing::Test {
 protected:
  static constexpr std::size_t kBlock = 4 * 2 * 16;
  static Layout layout(unsigned planes, std::uint32_t blocks) {
    auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000});
    return test::Geometry{"", planes, 1, blocks, kBlock, 1, kBlock, 0, blocks * kBlock}.layout(
        base);
  }
  [[nodiscard]] device::BlockCopy packed(const BlockPart& part) const {
    return pack({cache_, blocks_, part}, Direction::offload).value();
  }
  [[nodiscard]] std::string refusal(const BlockPart& part) const {
    const auto made = pack({cache_, blocks_, part}, Direction::offload);
    if (made.ok()) return "";
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    return made.error().message;
  }
  const BlockAxes whole_ = BlockAxes::tokens_first(4, 2, 16);
  const Layout cache_ = layout(2, 8);
  const std::vector<std::uint32_t> list_{5, 2, 3};
  const layout::CheckedBlocks blocks_ = layout::CheckedBlocks::make(cache_, list_).value();
};

TEST_F(OneCache, WhatLiesSideBySideIsOnePiece) {
  EXPECT_EQ(packed({whole_}).pieces(), 2U * 3) << "whole blocks";
  EXPECT_EQ(packed({whole_, {1, 2}}).piece_bytes, 2U * 2 * 16) << "neighbouring tokens";
  EXPECT_EQ(packed({whole_, {}, {1, 1}}).pieces(), 2U * 3 * 4) << "one head of each token";
  EXPECT_EQ(packed({BlockAxes::heads_first(4, 2, 16), {}, {1, 1}}).piece_bytes, 4U * 16)
      << "a head whose tokens are dense";
}

TEST_F(OneCache, AxesThatAreNotTheBlockAreRefused) {
  EXPECT_EQ(refusal({whole_}), "");
  EXPECT_EQ(
      refusal({BlockAxes::tokens_first(4, 2, 8)}),
      "blocks: 4 tokens of 2 heads of 8 bytes, strides 16 and 8, are not a block of 128 bytes");
  EXPECT_NE(refusal({BlockAxes::tokens_first(8, 2, 16)}), "") << "longer than a block";
  EXPECT_NE(refusal({{4, 2, 32, 8, 16}}), "") << "heads that share bytes";
  EXPECT_NE(refusal({{4, 2, 16, 16, 16}}), "") << "tokens that share heads";
  EXPECT_NE(refusal({{4, 2, 64, 16, 16}}), "") << "tokens past the block's end";
  EXPECT_NE(refusal({{4, 2, SIZE_MAX, 16, 16}}), "");
  EXPECT_NE(refusal({{4, 2, 32, SIZE_MAX / 2, 16}}), "");
  EXPECT_NE(refusal({{0, 2, 32, 16, 16}}), "");
  EXPECT_NE(refusal({{4, 2, 32, 16, 0}}), "");
  EXPECT_NE(refusal({{UINT32_MAX, UINT32_MAX, 32, 16, SIZE_MAX}}), "");
}

TEST_F(OneCache, RunsInTheGapsBetweenSegmentsAreRefused) {
  auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000});
  const Layout apart = test::Geometry{"", 1, 1, 4, 16, 2, 16, 64, 256}.layout(base);
  const std::vector<std::uint32_t> list{1};
  const auto blocks = layout::CheckedBlocks::make(apart, list).value();
  const auto good = pack({apart, blocks, {{1, 2, 0, 64, 16}}}, Direction::offload);
  EXPECT_TRUE(good.ok());
  const auto bad = pack({apart, blocks, {{1, 2, 0, 48, 16}}}, Direction::offload);
  ASSERT_FALSE(bad.ok()) << "another block lies there";
  EXPECT_EQ(bad.error().code, Code::invalid_argument);
}

TEST_F(OneCache, RangesThatAreEmptyOrBeginPastTheirAxisAreRefused) {
  EXPECT_EQ(refusal({whole_, {4, 1}}), "blocks: 1 tokens from 4 on, of 4");
  EXPECT_EQ(refusal({whole_, {0, 0}}), "blocks: 0 tokens from 0 on, of 4");
  EXPECT_EQ(refusal({whole_, {}, {2, 1}}), "blocks: 1 heads from 2 on, of 2");
}

TEST_F(OneCache, EndsThatDifferAreRefused) {
  const auto refused = [&](const Layout& other, const std::vector<std::uint32_t>& list,
                           const BlockPart& part) {
    const auto blocks = layout::CheckedBlocks::make(other, list).value();
    const auto made = pair({cache_, blocks_, {whole_}}, {other, blocks, part});
    if (made.ok()) return std::string();
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    return made.error().message;
  };
  EXPECT_EQ(refused(layout(2, 9), {8, 7, 0}, {BlockAxes::heads_first(4, 2, 16)}), "");
  EXPECT_EQ(refused(layout(3, 8), {0, 1, 2}, {whole_}),
            "blocks: 3 blocks in 3 planes do not go to 3 in 2");
  EXPECT_EQ(refused(layout(2, 8), {0, 1}, {whole_}),
            "blocks: 2 blocks in 2 planes do not go to 3 in 2");
  EXPECT_EQ(refused(layout(2, 8), {0, 1, 2}, {whole_, {0, 3}}),
            "blocks: 3 tokens of 2 heads of 16 bytes do not go to 4 of 2 of 16");
  EXPECT_NE(refused(layout(2, 8), {0, 1, 2}, {BlockAxes::tokens_first(4, 4, 8)}), "");
  EXPECT_NE(refused(layout(2, 8), {0, 1, 2}, {BlockAxes::tokens_first(4, 1, 32)}), "");
}

}  // namespace
}  // namespace aqua::transfer
