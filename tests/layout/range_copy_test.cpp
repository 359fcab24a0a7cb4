// SPDX-License-Identifier: Apache-2.0
#include "layout/range_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/walk.hpp"
#include "tests/layout/geometry.hpp"
#include "tests/layout/random_pages.hpp"

namespace aqua::layout {
namespace {

using test::each_byte;
using test::PagesShape;
using test::RandomPages;
using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t n, std::mt19937& random) {
  std::vector<std::uint32_t> words(n / 4 + 1);
  std::ranges::generate(words, std::ref(random));
  const auto* const bytes = reinterpret_cast<const std::byte*>(words.data());
  return {bytes, bytes + n};
}

// Every piece of the copy, as the kernels find it.
void run(const BlockCopy& copy, std::byte* line) {
  const auto side = [](const BlockEnd& end) {
    return kernels::BlockSide{end.planes.empty() ? nullptr : end.planes.data(),
                              end.ids.empty() ? nullptr : end.ids.data(), end.block_stride,
                              end.outer_stride, end.inner_stride};
  };
  const kernels::Blocks blocks{side(copy.dst), side(copy.src), copy.blocks,
                               copy.outer,     copy.inner,     copy.piece_bytes};
  kernels::walk(blocks, line, 0, copy.pieces(), [&](std::byte* dst, const std::byte* src) {
    std::memcpy(dst, src, copy.piece_bytes);
  });
}

TEST(RangeCopy, TenThousandRandomPairsOfCachesMoveAsANaiveCopyDoes) {
  std::mt19937 random(3);
  std::size_t split = 0;
  for (unsigned round = 0; round < 10'000; ++round) {
    const PagesShape shape(random);
    const RandomPages from(shape, random);
    const RandomPages to(shape, random);
    Bytes source = random_bytes(from.extent(), random);
    Bytes target = random_bytes(to.extent(), random);
    Bytes expected = target;
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      expected[to.at(p, t, h, i)] = source[from.at(p, t, h, i)];
    });
    const Layout dst = to.layout(target.data());
    const Layout src = from.layout(source.data());
    const auto dst_blocks = CheckedBlocks::make(dst, to.blocks()).value();
    const auto src_blocks = CheckedBlocks::make(src, from.blocks()).value();
    const BlockCopy copy =
        pair({dst, dst_blocks, to.range()}, {src, src_blocks, from.range()}).value();
    run(copy, nullptr);
    ASSERT_TRUE(target == expected) << "round " << round;
    split += copy.planes() > shape.planes() ? 1U : 0U;
  }
  EXPECT_GT(split, 100U) << "axes that are gone through by planes of their own";
}

TEST(RangeCopy, ThePackedFormOfARangeTellsNoLayout) {
  std::mt19937 random(4);
  std::size_t lines = 0;
  for (unsigned round = 0; round < 4'000; ++round) {
    const PagesShape shape(random);
    const RandomPages pages(shape, random);
    Bytes cache = random_bytes(pages.extent(), random);
    Bytes packed;
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      packed.push_back(cache[pages.at(p, t, h, i)]);
    });
    const Layout layout = pages.layout(cache.data());
    const auto blocks = CheckedBlocks::make(layout, pages.blocks()).value();
    ASSERT_EQ(layout.packed_bytes(pages.blocks().size(), pages.range()).value(), packed.size());
    Bytes line(packed.size());
    const PagedEnd end{layout, blocks, pages.range()};
    const BlockCopy out = pack_range(end, PackedSide::dst, line.data()).value();
    run(out, line.data());
    ASSERT_TRUE(line == packed) << "round " << round;
    lines += has_line(out) ? 1U : 0U;

    line = random_bytes(packed.size(), random);
    Bytes expected = cache;
    std::size_t next = 0;
    each_byte(shape, [&](std::size_t p, std::size_t t, std::size_t h, std::size_t i) {
      expected[pages.at(p, t, h, i)] = line[next++];
    });
    run(pack_range(end, PackedSide::src, line.data()).value(), line.data());
    ASSERT_TRUE(cache == expected) << "round " << round;
  }
  EXPECT_GT(lines, 3'000U) << "nearly all could be staged";
  EXPECT_LT(lines, 4'000U);
}

TEST(RangeCopy, WholeBlocksKeepTheOrderOfTheirAxesInThePackedForm) {
  std::mt19937 random(5);
  for (unsigned round = 0; round < 2'000; ++round) {
    const RandomPages pages(PagesShape(random), random);
    Bytes cache = random_bytes(pages.extent(), random);
    const Layout layout = pages.layout(cache.data());
    const auto blocks = CheckedBlocks::make(layout, pages.blocks()).value();
    const BlockAxes& axes = layout.spec().axes;
    std::vector<BlockAxis> order{axes.tokens, axes.heads, axes.runs};
    std::ranges::stable_sort(order, std::greater{}, &BlockAxis::stride);
    Bytes packed;
    for (const std::byte* plane : layout.spec().planes) {
      for (const std::uint32_t block : pages.blocks()) {
        const std::byte* const at = plane + block * layout.spec().block_stride;
        for (std::size_t a = 0; a < order[0].count; ++a) {
          for (std::size_t b = 0; b < order[1].count; ++b) {
            for (std::size_t c = 0; c < order[2].count; ++c) {
              const std::byte* const run =
                  at + a * order[0].stride + b * order[1].stride + c * order[2].stride;
              packed.insert(packed.end(), run, run + axes.run_bytes);
            }
          }
        }
      }
    }
    Bytes line(packed.size());
    run(pack_blocks(layout, blocks, PackedSide::dst, line.data()).value(), line.data());
    ASSERT_TRUE(line == packed) << "round " << round;
  }
}

// Two planes of 8 blocks.
class OneCache : public ::testing::Test {
 protected:
  static Layout layout(unsigned layers, std::uint32_t blocks, const BlockAxes& axes) {
    auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{0x1000000});
    LayoutSpec spec{.layers = layers,
                    .planes_per_layer = 1,
                    .block_count = blocks,
                    .block_stride = axes.bytes(),
                    .axes = axes};
    for (unsigned p = 0; p < layers; ++p) spec.planes.push_back(base + p * blocks * axes.bytes());
    return Layout::make(spec).value();
  }
  [[nodiscard]] BlockCopy packed(const BlockAxes& axes, const KvRange& range) const {
    const Layout cache = layout(2, 8, axes);
    const auto blocks = CheckedBlocks::make(cache, list_).value();
    return pack_range({cache, blocks, range}, PackedSide::dst, nullptr).value();
  }
  [[nodiscard]] std::string refusal(const KvRange& range) const {
    const auto made = pack_range({cache_, blocks_, range}, PackedSide::dst, nullptr);
    if (made.ok()) return "";
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    EXPECT_EQ(cache_.packed_bytes(list_.size(), range).error().message, made.error().message);
    return made.error().message;
  }
  const BlockAxes tokens_first_ = BlockAxes::tokens_first(4, 2, 16);
  const Layout cache_ = layout(2, 8, tokens_first_);
  const std::vector<std::uint32_t> list_{5, 2, 3};
  const CheckedBlocks blocks_ = CheckedBlocks::make(cache_, list_).value();
};

TEST_F(OneCache, WhatLiesSideBySideIsOnePiece) {
  EXPECT_EQ(packed(tokens_first_, {}).pieces(), 2U * 3) << "whole blocks";
  const BlockCopy step = packed(tokens_first_, {.tokens = {9, 1}});
  EXPECT_EQ(step.pieces(), 2U) << "a token of all heads is a piece in each plane";
  EXPECT_EQ(step.piece_bytes, 2U * 16);
  EXPECT_EQ(packed(tokens_first_, {.tokens = {5, 2}}).piece_bytes, 2U * 2 * 16) << "neighbours";
  EXPECT_EQ(packed(tokens_first_, {.heads = {1, 1}}).pieces(), 2U * 3 * 4);
  EXPECT_EQ(packed(BlockAxes::heads_first(4, 2, 16), {.heads = {1, 1}}).piece_bytes, 4U * 16)
      << "a head whose tokens are dense";
}

TEST_F(OneCache, WholeBlocksOfARangeAreAPartWhereThereAreTwoOfThem) {
  const auto parts = [&](std::uint32_t first, std::uint32_t count) {
    std::vector<IndexRange> tokens;
    for (const KvRange& part :
         whole_blocks_apart(cache_, {.layers = {1, 1}, .tokens = {first, count}})) {
      EXPECT_EQ(part.layers, (IndexRange{1, 1}));
      tokens.push_back(part.tokens);
    }
    return tokens;
  };
  using Ranges = std::vector<IndexRange>;
  EXPECT_EQ(parts(3, 10), (Ranges{{3, 1}, {4, 8}, {12, 1}}));
  EXPECT_EQ(parts(4, 11), (Ranges{{4, 8}, {12, 3}}));
  EXPECT_EQ(parts(1, 11), (Ranges{{1, 3}, {4, 8}}));
  EXPECT_EQ(parts(0, 12), (Ranges{{0, 12}})) << "nothing but whole blocks";
  EXPECT_EQ(parts(1, 10), (Ranges{{1, 10}})) << "one whole block";
  EXPECT_EQ(parts(9, 1), (Ranges{{9, 1}})) << "a step";
  EXPECT_EQ(parts(0, 0), (Ranges{{0, 0}}));
  EXPECT_EQ(parts(UINT32_MAX - 12, 12),
            (Ranges{{UINT32_MAX - 12, 1}, {UINT32_MAX - 11, 8}, {UINT32_MAX - 3, 3}}))
      << "at the end of the numbers";
}

TEST_F(OneCache, AStepOfFasterTransformersKeysIsRunsOf16Bytes) {
  const BlockCopy step =
      packed(BlockAxes::runs_first(4, 2, 8, 16), {.layers = {1, 1}, .tokens = {6, 1}});
  EXPECT_EQ(step.piece_bytes, 16U);
  EXPECT_EQ(step.pieces(), 2U * 8) << "of two heads of 128 bytes in the one plane";
  EXPECT_TRUE(has_line(step)) << "so that it may be staged";
  EXPECT_EQ(step.src.inner_stride, 4U * 16);
}

TEST_F(OneCache, RangesThatAreEmptyOrReachPastTheirAxisAreRefused) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.tokens = {11, 1}}), "");
  EXPECT_EQ(refusal({.tokens = {12, 1}}), "range: 1 tokens from 12 on, of 12");
  EXPECT_EQ(refusal({.tokens = {11, 2}}), "range: 2 tokens from 11 on, of 12");
  EXPECT_EQ(refusal({.tokens = {0, 0}}), "range: 0 tokens from 0 on, of 12");
  EXPECT_EQ(refusal({.tokens = {12}}), "range: all tokens from 12 on, of 12");
  EXPECT_EQ(refusal({.heads = {2, 1}}), "range: 1 heads from 2 on, of 2");
  EXPECT_EQ(refusal({.layers = {1, 2}}), "range: 2 layers from 1 on, of 2");
  EXPECT_EQ(refusal({.layers = {UINT32_MAX, UINT32_MAX - 1}}),
            "range: 4294967294 layers from 4294967295 on, of 2");
}

TEST_F(OneCache, AnEmptyListHasNothingToMove) {
  const auto none = CheckedBlocks::make(cache_, {}).value();
  EXPECT_EQ(pack_range({cache_, none}, PackedSide::dst, nullptr).value().pieces(), 0U);
  EXPECT_EQ(pair({cache_, none}, {cache_, none}).value().pieces(), 0U);
  EXPECT_EQ(cache_.packed_bytes(0, {}).value(), 0U);
  EXPECT_FALSE(cache_.packed_bytes(0, {.tokens = {0, 1}}).ok());
}

TEST_F(OneCache, EndsThatDifferAreRefused) {
  const auto refused = [&](const Layout& other, const std::vector<std::uint32_t>& list,
                           const KvRange& range) {
    const auto blocks = CheckedBlocks::make(other, list).value();
    const auto made = pair({cache_, blocks_}, {other, blocks, range});
    if (made.ok()) return std::string();
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    return made.error().message;
  };
  EXPECT_EQ(refused(layout(2, 9, BlockAxes::heads_first(3, 2, 16)), {8, 7, 0, 2}, {}), "");
  EXPECT_EQ(refused(layout(3, 8, tokens_first_), {0, 1, 2}, {}),
            "range: 12 tokens of 2 heads of 16 bytes in 3 layers of 1 planes do not go to "
            "12 tokens of 2 heads of 16 bytes in 2 layers of 1 planes");
  EXPECT_NE(refused(layout(2, 8, tokens_first_), {0, 1}, {}), "") << "fewer tokens";
  EXPECT_NE(refused(layout(2, 8, BlockAxes::tokens_first(4, 4, 8)), {0, 1, 2}, {}), "");
  EXPECT_NE(refused(layout(2, 8, BlockAxes::tokens_first(4, 1, 32)), {0, 1, 2}, {}), "");
}

TEST_F(OneCache, RunsThatDoNotDivideEachOtherAreRefused) {
  const Layout eights = layout(1, 2, BlockAxes::runs_first(4, 1, 3, 8));
  const Layout twelves = layout(1, 2, BlockAxes::runs_first(4, 1, 2, 12));
  const std::vector<std::uint32_t> list{0};
  const auto made = pair({eights, CheckedBlocks::make(eights, list).value()},
                         {twelves, CheckedBlocks::make(twelves, list).value()});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "range: runs of 12 bytes do not go to runs of 8");
}

}  // namespace
}  // namespace aqua::layout
