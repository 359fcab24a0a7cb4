// SPDX-License-Identifier: Apache-2.0
// Linear programs for placement, in the two forms that are compared: over patterns, and naive.
//
// Threads: pure functions.
#pragma once

#include <functional>

#include "tools/place/exact/mip.hpp"
#include "tools/place/exact/patterns.hpp"

namespace aqua::place {

// One column a pattern, in order: how many units have it. Rows: the units of each type, then the
// models of each class. A pattern that is not `admitted` has the upper limit 0.
[[nodiscard]] LinearProgram pattern_program(const Kinds& kinds,
                                            const std::vector<Pattern>& patterns,
                                            const std::function<bool(std::size_t)>& admitted,
                                            const std::function<double(std::size_t)>& cost);

// Whole numbers from a solver's nearly whole ones.
[[nodiscard]] std::vector<int> rounded(const std::vector<double>& values);

// Aqua's equations as they stand: X[m][s] in column m * servers + s, last the bottleneck, in units
// of the largest H.
[[nodiscard]] LinearProgram naive_program(const Cluster& cluster);
[[nodiscard]] Assignment naive_assignment(const Cluster& cluster,
                                          const std::vector<double>& values);

}  // namespace aqua::place
