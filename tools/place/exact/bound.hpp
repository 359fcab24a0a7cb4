// SPDX-License-Identifier: Apache-2.0
// What no placement can do better than. Proven, whatever heuristic found the placement.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "tools/place/exact/mip.hpp"
#include "tools/place/model/cluster.hpp"
#include "tools/place/model/deadline.hpp"

namespace aqua::place {

// From sums alone: the units' loads add up to the models', and |N| comes in whole shards.
[[nodiscard]] Bytes simple_bound(const Cluster& cluster);

// As simple_bound(), but the shards have to fit: each unit holds a whole pattern of counts (how
// many producers, consumers, neutral models of each size), while bytes may flow between units as
// they like. With K the largest H|N| allowed and C(K) the least sum of H|N| over such patterns,
// the bound is the least over K of max(K, (|M| + C(K)) / units). At least simple_bound().
struct CountBound {
  Bytes bound = 0;
  // A placement with those counts, its bytes not balanced yet: what a local search starts from.
  std::optional<Assignment> start{};
};
[[nodiscard]] CountBound count_bound(const Cluster& cluster, MipSolver& solver,
                                     const Deadline& deadline);

}  // namespace aqua::place
