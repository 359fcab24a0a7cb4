// SPDX-License-Identifier: Apache-2.0
// The exact way: one column a server pattern, bisection on the bottleneck.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "tools/place/exact/mip.hpp"
#include "tools/place/model/deadline.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {

struct Exact {
  std::optional<Assignment> assignment{};  // the best found here
  Bytes bound = 0;                         // proven; at least the one given
  bool patterns = false;                   // all that matter could be written down
  bool infeasible = false;                 // proven: there is no placement at all
  bool served_best = false;  // proven: no placement of this objective serves more from peers
};

// Looks between `bound` and `incumbent` (without one: anywhere). Of the best bottleneck it takes
// the placement that serves most from peers, then, where models run already and the cluster is
// small, the one with fewest moves.
[[nodiscard]] Exact solve_exactly(const Cluster& cluster, MipSolver& solver, Bytes bound,
                                  const std::optional<Score>& incumbent, const Deadline& deadline);

}  // namespace aqua::place
