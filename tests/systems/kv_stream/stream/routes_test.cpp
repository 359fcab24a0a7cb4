// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace aqua::kv_stream {
namespace {

KvShards shards(std::vector<std::uint32_t> stages, std::uint32_t ranks, std::uint32_t block = 16) {
  return {{.layers = 6, .kv_heads = 4, .head_bytes = 64, .tokens_per_block = block},
          {.stage_layers = std::move(stages), .tensor_ranks = ranks}};
}

const std::vector<KvShards> kPipelines{shards({6}, 1),       shards({4, 2}, 2),
                                       shards({1, 2, 3}, 4), shards({2, 2, 2}, 1, 8),
                                       shards({6}, 8),       shards({5, 1}, 2, 5)};

// Each end finds the same pieces for a pair of ranks, in the same order; together they are all.
TEST(Routes, BothEndsAgreeOnWhatGoesBetweenThem) {
  for (const KvShards& from : kPipelines) {
    for (const KvShards& to : kPipelines) {
      const auto mapped = map_shards(from, to).value();
      std::size_t pieces = 0, wanted = 0;
      for (const auto& of_rank : mapped) wanted += of_rank.size();
      const auto sources = static_cast<std::uint32_t>(shards_of(from).value().size());
      for (std::uint32_t source = 0; source < sources; ++source) {
        const auto out = routes_from(from, source, to).value();
        EXPECT_TRUE(std::ranges::is_sorted(out, {}, &Route::peer));
        for (const Route& route : out) {
          const auto in = routes_to(from, to, route.peer).value();
          const auto back = std::ranges::find(in, source, &Route::peer);
          ASSERT_NE(back, in.end());
          EXPECT_EQ(back->pieces, route.pieces);
          pieces += route.pieces.size();
        }
      }
      EXPECT_EQ(pieces, wanted);
    }
  }
}

TEST(Routes, ARankThatIsNotThereHasNone) {
  EXPECT_EQ(routes_from(kPipelines[0], 1, kPipelines[1]).error().code, Code::invalid_argument);
  EXPECT_EQ(routes_to(kPipelines[0], kPipelines[1], 4).error().code, Code::invalid_argument);
}

TEST(Routes, AgreementIsOnModelAndShapesAndDirection) {
  std::set<std::uint64_t> digests;
  for (const KvShards& from : kPipelines) {
    for (const KvShards& to : kPipelines) digests.insert(agreement_of(from, to));
  }
  EXPECT_EQ(digests.size(), kPipelines.size() * kPipelines.size());
  KvShards other = kPipelines[0];
  other.shape.tokens_per_block = 99;  // which both ends need not know of each other
  EXPECT_EQ(agreement_of(other, kPipelines[1]), agreement_of(kPipelines[0], kPipelines[1]));
  other.shape.format = "fp8";
  EXPECT_NE(agreement_of(other, kPipelines[1]), agreement_of(kPipelines[0], kPipelines[1]));
}

}  // namespace
}  // namespace aqua::kv_stream
