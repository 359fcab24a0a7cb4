// SPDX-License-Identifier: Apache-2.0
// A placement for scripts, for people and for the eye.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "tools/place/solve.hpp"

namespace aqua::place {

[[nodiscard]] constexpr double gib(Bytes bytes) {
  return static_cast<double>(bytes) / static_cast<double>(Bytes{1} << 30);
}

// "model", or "model/shard" where it has several: as pairs name shards.
[[nodiscard]] std::string shard_name(const Cluster& cluster, const ShardRef& shard);

// {"objective","bound","gap","assignment","pairs",...}; docs/plan/placement.md has the schema.
[[nodiscard]] std::string render_json(const Cluster& cluster, const Placement& placement);

// How many of those that want memory get how much of it, in one sentence.
[[nodiscard]] std::string verdict(const Cluster& cluster, const Placement& placement);

// The verdict and a few lines; with `explain` also each unit's M, N and pairs, and why the bound
// holds.
[[nodiscard]] std::string render_text(const Cluster& cluster, const Placement& placement,
                                      bool explain);

// Servers as rows of GPUs, producers green, consumers red, pairs as arrows with
// their bytes; the verdict above.
[[nodiscard]] std::string render_svg(const Cluster& cluster, const Placement& placement);

}  // namespace aqua::place
