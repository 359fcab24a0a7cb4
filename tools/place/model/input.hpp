// SPDX-License-Identifier: Apache-2.0
// The input file of `aqua place` (docs/plan/placement.md has its schema).
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "aqua/result.hpp"
#include "tools/place/model/problem.hpp"

namespace aqua::place {

inline constexpr std::size_t kMaxInput = std::size_t{64} << 20;

// Strict: a field that is not known, missing or of the wrong kind is invalid_argument, with its
// path ("models[3].shards"). Names and ranges are checked by Cluster::make().
[[nodiscard]] Result<Problem> parse_problem(std::string_view text);

}  // namespace aqua::place
