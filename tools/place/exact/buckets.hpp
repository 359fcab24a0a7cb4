// SPDX-License-Identifier: Apache-2.0
// For clusters whose models all differ: models of like bytes as one class, each an interval.
//
// Threads: pure functions.
#pragma once

#include "tools/place/exact/bound.hpp"

namespace aqua::place {

// A relaxation: a unit with n models of a bucket may have any bytes from n times the bucket's
// least to n times its largest, and the units' bytes add up to the models'. The bound is the
// least bottleneck of its linear program over patterns, by bisection, to a thousandth of H;
// `start` is a placement with the patterns of a whole-numbered solution near it. At least `known`.
[[nodiscard]] CountBound bucket_bound(const Cluster& cluster, MipSolver& solver, Bytes known,
                                      Bytes found, const Deadline& deadline);

}  // namespace aqua::place
