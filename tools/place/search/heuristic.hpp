// SPDX-License-Identifier: Apache-2.0
// The fast way, for clusters of any size: build a placement, then improve it where it is worst.
//
// Threads: pure functions. Deterministic, unless the time limit is hit.
#pragma once

#include <optional>

#include "tools/place/model/cluster.hpp"
#include "tools/place/model/deadline.hpp"

namespace aqua::place {

// Large models first, each where the unit's part of the objective grows least; models stay where
// `keep` has them, where that is possible. nullopt when some model found no room, which does not
// prove that there is none.
[[nodiscard]] std::optional<Assignment> construct(const Cluster& cluster,
                                                  const Assignment* keep = nullptr);

// Moves and swaps that lower the worst unit, with kicks once none does; then, without giving the
// objective up, swaps that let more be served from peers. Stops at `enough` (a proven bound).
[[nodiscard]] Assignment improve(const Cluster& cluster, Assignment assignment, Bytes enough,
                                 const Deadline& deadline);

// Where a climb ends: up to `steps` random exchanges of sets of models between servers, which
// whatever lies below a target may pay for; the targets close in on the least that can be reached,
// from between `enough` (a proven bound) and `start`. The best of the placements they ended with.
[[nodiscard]] Assignment anneal(const Cluster& cluster, Assignment start, Bytes enough, long steps,
                                const Deadline& deadline);

// From what runs now: only steps that lower the objective by more than they cost in moves.
[[nodiscard]] Assignment improve_frugally(const Cluster& cluster, Assignment assignment,
                                          const Deadline& deadline);

// The same placement with equal servers and equal models exchanged so that fewer have to move.
[[nodiscard]] Assignment settle(const Cluster& cluster, const Assignment& assignment);

}  // namespace aqua::place
