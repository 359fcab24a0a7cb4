// SPDX-License-Identifier: Apache-2.0
// For clusters whose models all differ: models of like bytes as one class, each an interval.
//
// Threads: pure functions. Deterministic, unless the time limit is hit.
#pragma once

#include "tools/place/exact/bound.hpp"

namespace aqua::place {

// A relaxation: a unit with n models of a bucket may have any bytes from n times the bucket's
// least to n times its largest. The units' models and the units' bytes add up to what the cluster
// has, bucket by bucket. `bound`: no level below it can be reached even by fractions of patterns
// (generation.hpp), to a two-thousandth of H; at least `known`, at most `found`. `start`: a
// placement with most units as where they last could, once the rest is put where it fits.
// `known` where there are too many patterns even of few buckets.
[[nodiscard]] CountBound bucket_bound(const Cluster& cluster, MipSolver& solver, Bytes known,
                                      const Assignment& found, const Deadline& deadline);

}  // namespace aqua::place
