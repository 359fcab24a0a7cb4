// SPDX-License-Identifier: Apache-2.0
#include "aqua/shards.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

Error bad_shards(const std::string& what) {
  return Error{Code::invalid_argument, concat("shards: ", what)};
}

Result<void> check_number(const char* field, std::size_t number, std::size_t most) {
  if (number != 0 && number <= most) return {};
  return bad_shards(concat(field, " is ", number, ", not 1 to ", most));
}

Result<void> check_shape(const KvShape& shape) {
  AQUA_TRY(check_number("layers", shape.layers, kMostOfModel));
  AQUA_TRY(check_number("planes_per_layer", shape.planes_per_layer, kMostOfModel));
  AQUA_TRY(check_number("kv_heads", shape.kv_heads, kMostOfModel));
  AQUA_TRY(check_number("head_bytes", shape.head_bytes, std::size_t{1} << 32));
  AQUA_TRY(check_number("tokens_per_block", shape.tokens_per_block, UINT32_MAX));
  return {};
}

// The layers of each stage.
Result<std::vector<IndexRange>> stages_of(const KvShards& shards) {
  const auto& counts = shards.parallelism.stage_layers;
  const std::uint32_t layers = shards.shape.layers;
  if (counts.empty()) return std::vector<IndexRange>{{0, layers}};
  AQUA_TRY(check_number("stages", counts.size(), kMostOfModel));
  std::vector<IndexRange> stages;
  std::uint64_t first = 0;
  for (std::size_t stage = 0; stage < counts.size(); ++stage) {
    const std::uint32_t count = counts[stage];
    if (count == 0) return bad_shards(concat("stage_layers[", stage, "] is zero"));
    if (first <= layers) stages.push_back({static_cast<std::uint32_t>(first), count});
    first += count;
  }
  if (first != layers)
    return bad_shards(concat("stage_layers add up to ", first, " of ", layers, " layers"));
  return stages;
}

// The heads of all ranks of a stage, rank after rank, as many for each.
Result<std::vector<std::uint32_t>> heads_of(const KvShards& shards) {
  const std::uint32_t heads = shards.shape.kv_heads;
  const std::uint32_t ranks = shards.parallelism.tensor_ranks;
  if (heads % ranks != 0 && ranks % heads != 0)
    return bad_shards(concat("tensor_ranks is ", ranks, " for ", heads, " kv_heads"));
  const std::uint32_t all = std::max(heads, ranks);
  std::vector<std::uint32_t> dealt = shards.parallelism.heads;
  if (dealt.empty()) {
    dealt.resize(all);
    for (std::uint32_t i = 0; i < all; ++i) dealt[i] = i / (all / heads);
    return dealt;
  }
  if (dealt.size() != all)
    return bad_shards(concat("heads names ", dealt.size(), ", the ranks have ", all));
  std::vector<std::uint32_t> times(heads);
  for (std::size_t i = 0; i < all; ++i) {
    if (dealt[i] >= heads) return bad_shards(concat("heads[", i, "] is ", dealt[i], " of ", heads));
    ++times[dealt[i]];
  }
  for (std::uint32_t head = 0; head < heads; ++head) {
    if (times[head] != all / heads) {
      return bad_shards(
          concat("heads names head ", head, ' ', times[head], " times, not ", all / heads));
    }
  }
  return dealt;
}

}  // namespace

Result<std::vector<RankShard>> shards_of(const KvShards& shards) {
  AQUA_TRY(check_shape(shards.shape));
  const std::uint32_t ranks = shards.parallelism.tensor_ranks;
  AQUA_TRY(check_number("tensor_ranks", ranks, kMostRanks));
  AQUA_ASSIGN(const auto stages, stages_of(shards));
  AQUA_TRY(check_number("stages times tensor_ranks", stages.size() * ranks, kMostRanks));
  AQUA_ASSIGN(const auto heads, heads_of(shards));
  const std::size_t each = heads.size() / ranks;
  std::vector<RankShard> dealt;
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto own = std::span(heads).subspan(rank * each, each);
      dealt.push_back({stage, stages[stage], {own.begin(), own.end()}});
    }
  }
  return dealt;
}

}  // namespace aqua
