// SPDX-License-Identifier: Apache-2.0
// How good an assignment is: equation 6, then bytes served from peers, then moves.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "tools/place/model/cluster.hpp"

namespace aqua::place {

struct Score {
  Bytes objective = 0;
  Bytes served = 0;  // bytes that consumers get from peers
  std::int64_t moves = 0;

  // With the price of moving; smaller is better.
  [[nodiscard]] Bytes priced(Bytes move_cost_bytes) const {
    return objective + move_cost_bytes * moves;
  }
  [[nodiscard]] bool better_than(const Score& other, Bytes move_cost_bytes) const;
};

[[nodiscard]] std::vector<Load> loads_of(const Cluster& cluster, const Assignment& assignment);
[[nodiscard]] Score score_of(const Cluster& cluster, const Assignment& assignment);

// Bytes served inside one unit that holds these models.
[[nodiscard]] Bytes served_by(const Cluster& cluster, const std::vector<int>& models);

// Whether every server has room, every fixed model its place and every group its distance.
[[nodiscard]] bool allowed(const Cluster& cluster, const Assignment& assignment);

}  // namespace aqua::place
