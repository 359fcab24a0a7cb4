// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/routes.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/fnv1a.hpp"
#include "base/try.hpp"

namespace aqua::kv_stream {
namespace {

// To each rank's route of those in order; made where there is none.
Route& route_to(std::vector<Route>& routes, std::uint32_t peer) {
  auto at = std::ranges::lower_bound(routes, peer, {}, &Route::peer);
  if (at == routes.end() || at->peer != peer) at = routes.insert(at, {.peer = peer});
  return *at;
}

std::string text_of(const KvShards& shards) {
  const KvShape& shape = shards.shape;
  std::string text =
      concat(shape.layers, " ", shape.planes_per_layer, " ", shape.kv_heads, " ", shape.head_bytes,
             " ", shape.format.size(), " ", shape.format, " ", shards.parallelism.tensor_ranks);
  for (const std::uint32_t layers : shards.parallelism.stage_layers) text += concat(" ", layers);
  text += ";";
  for (const std::uint32_t head : shards.parallelism.heads) text += concat(" ", head);
  return text + ";";
}

Error no_rank(std::uint32_t rank) {
  return {Code::invalid_argument, concat("the pipeline has no rank ", rank)};
}

}  // namespace

Result<std::vector<Route>> routes_from(const KvShards& from, std::uint32_t rank,
                                       const KvShards& to) {
  AQUA_ASSIGN(const auto sources, shards_of(from));
  if (rank >= sources.size()) return no_rank(rank);
  AQUA_ASSIGN(const auto mapped, map_shards(from, to));
  std::vector<Route> routes;
  for (std::uint32_t peer = 0; peer < mapped.size(); ++peer) {
    for (const ShardPiece& piece : mapped[peer]) {
      if (piece.source == rank) route_to(routes, peer).pieces.push_back(piece);
    }
  }
  return routes;
}

Result<std::vector<Route>> routes_to(const KvShards& from, const KvShards& to, std::uint32_t rank) {
  AQUA_ASSIGN(const auto mapped, map_shards(from, to));
  if (rank >= mapped.size()) return no_rank(rank);
  std::vector<Route> routes;
  for (const ShardPiece& piece : mapped[rank])
    route_to(routes, piece.source).pieces.push_back(piece);
  return routes;
}

std::uint64_t agreement_of(const KvShards& from, const KvShards& to) {
  return fnv1a(text_of(from) + text_of(to));
}

}  // namespace aqua::kv_stream
