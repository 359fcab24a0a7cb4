// SPDX-License-Identifier: Apache-2.0
// Who sends what. A head of a source's stage is had by one or more of its ranks, and needed, for
// some layers each, by ranks of the other side. All that is needed of it, a layer for a rank at a
// time, is one row; the ranks that have it take equal parts of the row.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "aqua/shards.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

// Where a head is: in which rank, and as which of its own.
struct Holder {
  std::uint32_t rank = 0;
  std::uint32_t head = 0;
};

// For each stage and each head of the model, who has it. Ranks in order.
class Holders {
 public:
  Holders(const std::vector<RankShard>& shards, std::uint32_t heads)
      : heads_(heads), of_((shards.back().stage + 1) * std::size_t{heads}) {
    for (std::uint32_t rank = 0; rank < shards.size(); ++rank) {
      for (std::uint32_t i = 0; i < shards[rank].heads.size(); ++i)
        of_[shards[rank].stage * std::size_t{heads_} + shards[rank].heads[i]].push_back({rank, i});
    }
  }
  [[nodiscard]] const std::vector<Holder>& of(std::uint32_t stage, std::uint32_t head) const {
    return of_[stage * std::size_t{heads_} + head];
  }

 private:
  std::uint32_t heads_;
  std::vector<std::vector<Holder>> of_;
};

IndexRange shared(const IndexRange& a, const IndexRange& b) {
  const std::uint32_t first = std::max(a.first, b.first);
  const std::uint32_t end = std::min(a.first + a.count, b.first + b.count);
  return {first, end > first ? end - first : 0};
}

// Where a rank stands that begins at `part` of `parts` equal ones of a row.
std::uint64_t begin_of(std::uint64_t part, std::uint64_t parts, std::uint64_t row) {
  return part * row / parts;
}

// Heads that follow one another on both sides are one piece.
void join(std::vector<ShardPiece>& pieces) {
  std::ranges::sort(pieces, {}, [](const ShardPiece& piece) {
    return std::tuple(piece.to.layers.first, piece.to.layers.count, piece.source,
                      piece.to.heads.first);
  });
  std::vector<ShardPiece> joined;
  for (const ShardPiece& piece : pieces) {
    if (!joined.empty()) {
      ShardPiece& before = joined.back();
      ShardPiece next = piece;
      next.from.heads = {before.from.heads.first + before.from.heads.count, 1};
      next.to.heads = {before.to.heads.first + before.to.heads.count, 1};
      if (next == piece && before.source == piece.source && before.to.layers == piece.to.layers) {
        ++before.from.heads.count;
        ++before.to.heads.count;
        continue;
      }
    }
    joined.push_back(piece);
  }
  pieces = std::move(joined);
}

class Map {
 public:
  Map(const std::vector<RankShard>& from, const std::vector<RankShard>& to, std::uint32_t heads)
      : from_(from), to_(to), heads_(heads), having_(from, heads), needing_(to, heads) {
    pieces_.resize(to.size());
  }
  [[nodiscard]] std::vector<std::vector<ShardPiece>> make() {
    for (std::uint32_t stage = 0; stage <= from_.back().stage; ++stage) {
      for (std::uint32_t head = 0; head < heads_; ++head) deal(stage, head);
    }
    for (auto& of : pieces_) join(of);
    return std::move(pieces_);
  }

 private:
  // All that is needed of a head of a stage of the source.
  void deal(std::uint32_t stage, std::uint32_t head) {
    const auto& sources = having_.of(stage, head);
    const IndexRange have = from_[sources.front().rank].layers;
    std::uint64_t row = 0;
    const auto each_need = [&](auto visit) {
      for (std::uint32_t other = first_stage_with(have.first); other <= to_.back().stage; ++other) {
        for (const Holder& need : needing_.of(other, head)) {
          const IndexRange layers = shared(have, to_[need.rank].layers);
          if (layers.count == 0) return;
          visit(need, layers);
        }
      }
    };
    each_need([&](const Holder&, const IndexRange& layers) { row += layers.count; });
    std::uint64_t at = 0;
    std::size_t source = 0;
    each_need([&](const Holder& need, IndexRange layers) {
      while (layers.count != 0) {
        while (begin_of(source + 1, sources.size(), row) <= at) ++source;
        const std::uint64_t left = begin_of(source + 1, sources.size(), row) - at;
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, layers.count));
        add(sources[source], need, {layers.first, count});
        layers = {layers.first + count, layers.count - count};
        at += count;
      }
    });
  }
  // The first stage of the other side with this layer.
  [[nodiscard]] std::uint32_t first_stage_with(std::uint32_t layer) const {
    return std::ranges::lower_bound(
               to_, layer, {},
               [](const RankShard& rank) { return rank.layers.first + rank.layers.count - 1; })
        ->stage;
  }
  void add(const Holder& source, const Holder& need, const IndexRange& layers) {
    const auto own = [&](const RankShard& rank, std::uint32_t head) {
      return KvRange{.layers = {layers.first - rank.layers.first, layers.count},
                     .heads = {head, 1}};
    };
    pieces_[need.rank].push_back(
        {source.rank, own(from_[source.rank], source.head), own(to_[need.rank], need.head)});
  }

  const std::vector<RankShard>& from_;
  const std::vector<RankShard>& to_;
  const std::uint32_t heads_;
  const Holders having_, needing_;
  std::vector<std::vector<ShardPiece>> pieces_;  // by rank of `to`
};

Result<std::vector<RankShard>> dealt(const char* which, const KvShards& shards) {
  auto made = shards_of(shards);
  if (made.ok()) return made;
  return Error{made.error().code, concat(which, ": ", made.error().message)};
}

template <typename T>
Result<void> check_alike(const char* field, const T& from, const T& to) {
  if (from == to) return {};
  return Error{Code::failed_precondition,
               concat("shards: ", field, " is ", from, " on the one side, ", to, " on the other")};
}

}  // namespace

Result<std::vector<std::vector<ShardPiece>>> map_shards(const KvShards& from, const KvShards& to) {
  AQUA_ASSIGN(const auto sources, dealt("from", from));
  AQUA_ASSIGN(const auto destinations, dealt("to", to));
  AQUA_TRY(check_alike("layers", from.shape.layers, to.shape.layers));
  AQUA_TRY(check_alike("planes_per_layer", from.shape.planes_per_layer, to.shape.planes_per_layer));
  AQUA_TRY(check_alike("kv_heads", from.shape.kv_heads, to.shape.kv_heads));
  AQUA_TRY(check_alike("head_bytes", from.shape.head_bytes, to.shape.head_bytes));
  AQUA_TRY(check_alike("format", from.shape.format, to.shape.format));
  return Map(sources, destinations, from.shape.kv_heads).make();
}

}  // namespace aqua
