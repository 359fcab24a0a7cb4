// SPDX-License-Identifier: Apache-2.0
// The placer: from a cluster to a placement with pairs, a proven bound and how both were found.
//
// Threads: pure functions; solve() blocks for about the time limit at most. Deterministic, unless
// Placement::time_limit_hit.
#pragma once

#include <string>
#include <vector>

#include "tools/place/model/matching.hpp"
#include "tools/place/model/score.hpp"

namespace aqua::place {

struct SolveOptions {
  double time_limit_s = 10;
  std::string solver =
      "auto";  // "cbc"; "heuristic": none; "naive": one variable per model and server
};

struct Placement {
  Assignment assignment{};
  Score score{};
  Bytes bound = 0;  // no placement has a smaller objective
  Bytes largest_hbm = 0;
  std::vector<Pair> pairs{};
  std::string solver{};  // with its version; "none"
  std::string method{};  // which of the ways found the placement
  // The limit, or a part of it that a step was given, ended a search early.
  bool time_limit_hit = false;
  bool served_best = false;  // proven: none of this objective serves more from peers

  [[nodiscard]] bool optimal() const { return score.objective <= bound; }
  // (found - bound) / max(bound, H)
  [[nodiscard]] double gap() const;
};

// failed_precondition with the conflict when there is no placement; deadline_exceeded when none
// was found in time; unimplemented for a solver that this build does not have.
[[nodiscard]] Result<Placement> solve(const Cluster& cluster, const SolveOptions& options);

}  // namespace aqua::place
