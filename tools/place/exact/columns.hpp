// SPDX-License-Identifier: Apache-2.0
// A bound by column generation: for where models are so many and so different that their patterns
// cannot be written down.
//
// Threads: pure function. Deterministic, unless the time limit is hit.
#pragma once

#include "tools/place/exact/mip.hpp"
#include "tools/place/model/cluster.hpp"
#include "tools/place/model/deadline.hpp"

namespace aqua::place {

// The highest level that is proven to be no placement's, plus one: at least `known`, at most the
// objective of `found`. A level is no placement's where not even fractions of patterns, each up to
// it, cover every model once: a linear program, whose patterns are generated as its prices ask for
// them (pricing.hpp). `known` where units are too large for that.
[[nodiscard]] Bytes column_bound(const Cluster& cluster, MipSolver& solver, Bytes known,
                                 const Assignment& found, const Deadline& deadline);

}  // namespace aqua::place
