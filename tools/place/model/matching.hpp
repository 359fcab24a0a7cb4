// SPDX-License-Identifier: Apache-2.0
// Who lends to whom inside one unit: one producer shard to one consumer shard (Aqua, section 5).
//
// Stable: a consumer ranks producers by min(offer, need), then by the bandwidth between them, then
// by id; producers rank consumers likewise; no two shards would both rather have each other.
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "tools/place/model/cluster.hpp"

namespace aqua::place {

struct ShardRef {
  int model = 0;
  int shard = 0;
  friend auto operator<=>(const ShardRef&, const ShardRef&) = default;
};

struct Party {  // one shard that lends or borrows
  ShardRef shard;
  Bytes bytes = 0;            // > 0: offered or needed
  Bytes bandwidth_bytes = 0;  // of its GPU; a pair has that of the slower one
};

struct Pair {
  ShardRef producer;
  ShardRef consumer;
  Bytes bytes = 0;  // served from the peer: min(offer, need)
};

// Shards are ranked by their position in the spans where all else is equal: sort them by id.
// Pairs come best first. O(p*c*log(p*c)).
[[nodiscard]] std::vector<Pair> stable_matching(std::span<const Party> producers,
                                                std::span<const Party> consumers);

// The most bytes that any matching could serve: the k largest offers with the k largest needs in
// order, since min() has increasing differences. Stable matchings reach it (tested).
[[nodiscard]] Bytes largest_matching(std::vector<Bytes> offers, std::vector<Bytes> needs);

// The pairs of every unit, under `assignment`.
[[nodiscard]] std::vector<Pair> match(const Cluster& cluster, const Assignment& assignment);

}  // namespace aqua::place
