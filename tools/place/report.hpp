// SPDX-License-Identifier: Apache-2.0
// A placement for scripts, for people and for the eye.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "tools/place/solve.hpp"

namespace aqua::place {

// "model", or "model/shard" where it has several: as pairs name shards.
[[nodiscard]] std::string shard_name(const Cluster& cluster, const ShardRef& shard);

// {"objective","bound","gap","assignment","pairs",...}; docs/plan/placement.md has the schema.
[[nodiscard]] std::string render_json(const Cluster& cluster, const Placement& placement);

// A few lines; with `explain` also each unit's M, N and pairs, and why the bound holds.
[[nodiscard]] std::string render_text(const Cluster& cluster, const Placement& placement,
                                      bool explain);

// Servers as rows of GPUs, producers green, consumers red, pairs as arcs.
[[nodiscard]] std::string render_svg(const Cluster& cluster, const Placement& placement);

}  // namespace aqua::place
