// SPDX-License-Identifier: Apache-2.0
#include "aqua/shards.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "kernels/walk.hpp"
#include "layout/range_copy.hpp"
#include "tests/layout/random_shards.hpp"

namespace aqua {
namespace {

using test::Draw;
using test::RankCache;

// Moves a piece as an engine does, and counts how often each byte of the destination is written.
void move(RankCache& from, RankCache& to, const ShardPiece& piece, std::uint32_t tokens,
          std::vector<unsigned>& written) {
  const Layout src = from.layout();
  const Layout dst = to.layout();
  const auto src_blocks = layout::CheckedBlocks::make(src, from.blocks()).value();
  const auto dst_blocks = layout::CheckedBlocks::make(dst, to.blocks()).value();
  KvRange there = piece.to;
  KvRange here = piece.from;
  there.tokens = here.tokens = {0, tokens};
  const auto copy = layout::pair({dst, dst_blocks, there}, {src, src_blocks, here}).value();
  const auto side = [](const layout::BlockEnd& end) {
    return kernels::BlockSide{end.planes.data(), end.ids.empty() ? nullptr : end.ids.data(),
                              end.block_stride, end.outer_stride, end.inner_stride};
  };
  const kernels::Blocks blocks{side(copy.dst), side(copy.src), copy.blocks,
                               copy.outer,     copy.inner,     copy.piece_bytes};
  kernels::walk(blocks, nullptr, 0, copy.pieces(), [&](std::byte* at, const std::byte* of) {
    for (std::size_t i = 0; i < copy.piece_bytes; ++i) {
      at[i] = of[i];
      ++written[static_cast<std::size_t>(at + i - to.bytes().data())];
    }
  });
}

TEST(Shards, TenThousandRandomPairsOfTopologiesMoveAsANaiveCopyDoes) {
  Draw draw(5);
  std::size_t moved = 0;
  for (unsigned round = 0; round < 10'000; ++round) {
    const KvShape shape = test::random_shape(draw);
    const KvShards from{shape, test::random_parallelism(shape, draw)};
    KvShards to{shape, test::random_parallelism(shape, draw)};
    to.shape.tokens_per_block = 1 + draw.below(5);
    const std::uint32_t tokens = 1 + draw.below(7);
    auto sources = test::caches_of(from, tokens, draw);
    auto destinations = test::caches_of(to, tokens, draw);
    for (RankCache& cache : sources)
      cache.each_byte(tokens, [&](std::size_t at, std::byte is) { cache.bytes()[at] = is; });
    const auto mapped = map_shards(from, to);
    ASSERT_TRUE(mapped.ok()) << mapped.error().message;
    ASSERT_EQ(mapped->size(), destinations.size());
    for (std::size_t rank = 0; rank < destinations.size(); ++rank) {
      RankCache& cache = destinations[rank];
      std::vector<unsigned> written(cache.bytes().size());
      for (const ShardPiece& piece : (*mapped)[rank])
        move(sources.at(piece.source), cache, piece, tokens, written);
      std::size_t once = 0;
      bool right = true;
      cache.each_byte(tokens, [&](std::size_t at, std::byte is) {
        right = right && cache.bytes()[at] == is && written[at] == 1;
        ++once;
      });
      ASSERT_TRUE(right) << "round " << round << " rank " << rank;
      ASSERT_EQ(std::accumulate(written.begin(), written.end(), std::size_t{0}), once)
          << "and no other byte, in round " << round;
      moved += once;
    }
  }
  EXPECT_GT(moved, 1'000'000U);
}

// What each source has to send, in layers of a head; by stage and head where ranks repeat it.
TEST(Shards, RanksThatHaveTheSameBytesShareTheWorkToWithinOneLayerOfAHead) {
  Draw draw(6);
  unsigned repeated = 0;
  for (unsigned round = 0; round < 2'000; ++round) {
    const KvShape shape = test::random_shape(draw);
    const KvShards from{shape, test::random_parallelism(shape, draw)};
    const KvShards to{shape, test::random_parallelism(shape, draw)};
    const auto sources = shards_of(from).value();
    if (from.parallelism.tensor_ranks <= shape.kv_heads) continue;
    std::vector<std::uint32_t> load(sources.size());
    for (const auto& pieces : map_shards(from, to).value()) {
      for (const ShardPiece& piece : pieces)
        load[piece.source] += piece.from.layers.count * piece.from.heads.count;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> alike;
    for (std::size_t rank = 0; rank < sources.size(); ++rank)
      alike[{sources[rank].stage, sources[rank].heads.front()}].push_back(load[rank]);
    for (const auto& [of, loads] : alike) {
      const auto [least, most] = std::ranges::minmax(loads);
      EXPECT_LE(most - least, 1U) << "round " << round << " stage " << of.first;
      ++repeated;
    }
  }
  EXPECT_GT(repeated, 1'000U);
}

KvShards gqa(std::vector<std::uint32_t> stage_layers, std::uint32_t ranks) {
  return {{.layers = 6, .kv_heads = 4, .head_bytes = 256, .tokens_per_block = 16, .format = "f16"},
          {.stage_layers = std::move(stage_layers), .tensor_ranks = ranks}};
}

TEST(Shards, UnevenStagesAndFewerRanksTakeWhatIsTheirs) {
  const auto mapped = map_shards(gqa({3, 3}, 4), gqa({4, 2}, 2)).value();
  ASSERT_EQ(mapped.size(), 4U);
  const IndexRange all{};
  const std::vector<ShardPiece> first{{0, {{0, 3}, all, {0, 1}}, {{0, 3}, all, {0, 1}}},
                                      {1, {{0, 3}, all, {0, 1}}, {{0, 3}, all, {1, 1}}},
                                      {4, {{0, 1}, all, {0, 1}}, {{3, 1}, all, {0, 1}}},
                                      {5, {{0, 1}, all, {0, 1}}, {{3, 1}, all, {1, 1}}}};
  EXPECT_EQ(mapped[0], first);
  const std::vector<ShardPiece> last{{6, {{1, 2}, all, {0, 1}}, {{0, 2}, all, {0, 1}}},
                                     {7, {{1, 2}, all, {0, 1}}, {{0, 2}, all, {1, 1}}}};
  EXPECT_EQ(mapped[3], last);
}

TEST(Shards, HeadsThatFollowOneAnotherOnBothSidesAreOnePiece) {
  const auto mapped = map_shards(gqa({}, 1), gqa({}, 2)).value();
  ASSERT_EQ(mapped[1].size(), 1U);
  EXPECT_EQ(mapped[1][0], (ShardPiece{0, {{0, 6}, {}, {2, 2}}, {{0, 6}, {}, {0, 2}}}));
  KvShards turned = gqa({}, 1);
  turned.parallelism.heads = {2, 3, 0, 1};
  const auto other = map_shards(turned, gqa({}, 1)).value();
  ASSERT_EQ(other[0].size(), 2U);
  EXPECT_EQ(other[0][0], (ShardPiece{0, {{0, 6}, {}, {2, 2}}, {{0, 6}, {}, {0, 2}}}));
  EXPECT_EQ(map_shards(turned, turned).value()[0].size(), 1U) << "in whatever order";
}

TEST(Shards, LatentsThatEveryRankHasComeFromAllOfThem) {
  KvShards from = gqa({}, 3);
  from.shape.kv_heads = 1;
  from.shape.planes_per_layer = 1;
  KvShards to = from;
  to.parallelism.tensor_ranks = 1;
  const auto mapped = map_shards(from, to).value();
  ASSERT_EQ(mapped[0].size(), 3U) << "two layers of each";
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(mapped[0][rank].source, rank);
    EXPECT_EQ(mapped[0][rank].to.layers, (IndexRange{2 * rank, 2}));
  }
  for (const auto& pieces : map_shards(to, from).value()) EXPECT_EQ(pieces.size(), 1U);
}

TEST(Shards, WhatCannotBeDealtIsRefusedByItsField) {
  const auto refused = [](auto spoil) {
    KvShards shards = gqa({3, 3}, 2);
    spoil(shards.shape, shards.parallelism);
    const auto made = shards_of(shards);
    if (made.ok()) return std::string();
    EXPECT_EQ(made.error().code, Code::invalid_argument);
    EXPECT_EQ(map_shards(gqa({}, 1), shards).error().message, "to: " + made.error().message);
    return made.error().message;
  };
  EXPECT_EQ(refused([](auto&, auto&) {}), "");
  EXPECT_EQ(refused([](auto& shape, auto&) { shape.layers = 0; }),
            "shards: layers is 0, not 1 to 1024");
  EXPECT_EQ(refused([](auto& shape, auto&) { shape.kv_heads = 1025; }),
            "shards: kv_heads is 1025, not 1 to 1024");
  EXPECT_NE(refused([](auto& shape, auto&) { shape.head_bytes = 0; }), "");
  EXPECT_NE(refused([](auto& shape, auto&) { shape.planes_per_layer = 0; }), "");
  EXPECT_NE(refused([](auto& shape, auto&) { shape.tokens_per_block = 0; }), "");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.stage_layers = {3, 2};
            }),
            "shards: stage_layers add up to 5 of 6 layers");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.stage_layers = {3, 3, UINT32_MAX};
            }),
            "shards: stage_layers add up to 4294967301 of 6 layers");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.stage_layers = {6, 0};
            }),
            "shards: stage_layers[1] is zero");
  EXPECT_EQ(refused([](auto&, auto& how) { how.tensor_ranks = 0; }),
            "shards: tensor_ranks is 0, not 1 to 4096");
  EXPECT_EQ(refused([](auto&, auto& how) { how.tensor_ranks = 3; }),
            "shards: tensor_ranks is 3 for 4 kv_heads");
  EXPECT_EQ(refused([](auto&, auto& how) { how.tensor_ranks = 4096; }),
            "shards: stages times tensor_ranks is 8192, not 1 to 4096");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.heads = {0, 1, 2};
            }),
            "shards: heads names 3, the ranks have 4");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.heads = {0, 1, 2, 4};
            }),
            "shards: heads[3] is 4 of 4");
  EXPECT_EQ(refused([](auto&, auto& how) {
              how.heads = {0, 1, 2, 2};
            }),
            "shards: heads names head 2 2 times, not 1");
}

TEST(Shards, ModelsThatDifferDoNotMapAndTheirBlocksMay) {
  const auto refused = [](auto spoil) {
    KvShards other = gqa({}, 1);
    spoil(other.shape);
    const auto mapped = map_shards(gqa({}, 1), other);
    if (mapped.ok()) return std::string();
    EXPECT_EQ(mapped.error().code, Code::failed_precondition);
    return mapped.error().message;
  };
  EXPECT_EQ(refused([](auto& shape) { shape.tokens_per_block = 64; }), "");
  EXPECT_EQ(refused([](auto& shape) { shape.layers = 7; }),
            "shards: layers is 6 on the one side, 7 on the other");
  EXPECT_EQ(refused([](auto& shape) { shape.planes_per_layer = 1; }),
            "shards: planes_per_layer is 2 on the one side, 1 on the other");
  EXPECT_NE(refused([](auto& shape) { shape.kv_heads = 8; }), "");
  EXPECT_NE(refused([](auto& shape) { shape.head_bytes = 128; }), "");
  EXPECT_EQ(refused([](auto& shape) { shape.format = "fp8"; }),
            "shards: format is f16 on the one side, fp8 on the other");
}

TEST(Shards, TheLargestThatAreTakenAreMappedInReasonableTime) {
  KvShards from = gqa({}, 1);
  from.shape.layers = kMostOfModel;
  from.shape.kv_heads = kMostOfModel;
  from.parallelism.stage_layers.assign(kMostOfModel, 1);
  KvShards to = from;
  to.parallelism = {.stage_layers = {}, .tensor_ranks = kMostRanks};
  const auto mapped = map_shards(from, to).value();
  EXPECT_EQ(mapped.size(), kMostRanks);
  EXPECT_EQ(mapped.back().size(), kMostOfModel) << "a head of each layer";
}

}  // namespace
}  // namespace aqua
