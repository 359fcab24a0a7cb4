// SPDX-License-Identifier: Apache-2.0
// Shards: how the KV of one model lies over the ranks of a pipeline, and which ranks of one
// pipeline have what each rank of another one needs. The two may differ in stages, ranks, size of
// blocks and order of heads; what they hold may not.
//
//   const aqua::KvShape shape{
//       .layers = 32, .kv_heads = 8, .head_bytes = 256, .tokens_per_block = 16};
//   const aqua::KvShards prefill{shape, {.stage_layers = {16, 16}, .tensor_ranks = 4}};
//   const aqua::KvShards decode{shape, {.stage_layers = {11, 11, 10}, .tensor_ranks = 2}};
//   const auto mapped = aqua::map_shards(prefill, decode);
//   for (const aqua::ShardPiece& piece : (*mapped)[rank])  // of decode
//     move(piece.source, piece.from, piece.to);  // from that rank of prefill: yours
//
// Sequences are mapped one by one, so batches may differ too: a piece is of every sequence, and the
// tokens of its ranges are all of them, or those that one puts there (the same at both ends).
//
// Threads: free functions, pure. The answer is the same for the same arguments, everywhere.
// Units:   bytes, where they say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/kv_range.hpp"
#include "aqua/result.hpp"

namespace aqua {

// What there is of a token in a model's KV, before it is dealt to ranks.
struct KvShape {
  std::uint32_t layers = 0;
  std::uint32_t planes_per_layer = 2;  // keys and values, or 1
  std::uint32_t kv_heads = 0;          // 1 for latents (MLA), which every rank has whole
  std::size_t head_bytes = 0;          // of one head of one token in one plane
  std::uint32_t tokens_per_block = 0;
  // All else that has to be alike, in words of one's own: type of elements, scales, rope.
  std::string format{};
  friend bool operator==(const KvShape&, const KvShape&) = default;
};

// How it is dealt. Rank number stage * tensor_ranks + i is the i-th of its stage.
struct Parallelism {
  std::vector<std::uint32_t> stage_layers{};  // of each stage, in order; empty: one stage
  std::uint32_t tensor_ranks = 1;             // of each stage
  // Which heads the ranks of a stage have, rank after rank, each in the order of its memory. Empty:
  // 0, 1, 2, ...; where ranks outnumber heads, each head as often as it takes, 0, 0, 1, 1, ...
  std::vector<std::uint32_t> heads{};
  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

struct KvShards {
  KvShape shape{};
  Parallelism parallelism{};
};

// What a rank has, layers and heads numbered as the model has them. Its own layers and heads are
// counted from 0 in this order.
struct RankShard {
  std::uint32_t stage = 0;
  IndexRange layers{};
  std::vector<std::uint32_t> heads{};
};

// Layers and heads counted as each of the two ranks has them, and all tokens. Counts are alike.
struct ShardPiece {
  std::uint32_t source = 0;  // rank
  KvRange from{};
  KvRange to{};
  friend bool operator==(const ShardPiece&, const ShardPiece&) = default;
};

// At most: ranks in all, and each of layers, planes and heads.
inline constexpr std::uint32_t kMostRanks = 4096;
inline constexpr std::uint32_t kMostOfModel = 1024;

// In the order of ranks. invalid_argument, naming the field, for what cannot be dealt: layers that
// the stages do not add up to, heads and ranks of which neither divides the other, a head that is
// left out.
[[nodiscard]] AQUA_API Result<std::vector<RankShard>> shards_of(const KvShards& shards);

// For each rank of `to`, in order, the pieces whose union is all it has: each byte from exactly one
// rank of `from`. Ranks that have the same bytes share the work, to within one layer of one head.
//   invalid_argument     as shards_of(), naming from or to
//   failed_precondition  the shapes differ in more than tokens_per_block: the field and both values
[[nodiscard]] AQUA_API Result<std::vector<std::vector<ShardPiece>>> map_shards(const KvShards& from,
                                                                               const KvShards& to);

}  // namespace aqua
