// SPDX-License-Identifier: Apache-2.0
// From planner_bench's rows to its goals: for each link that was measured, the median and the worst
// of the chosen way's time over the best way's. Unmeasured where the rows name fewer than 30 sizes.
// Rows that are not resolved are left out, and so are those of which another way ran than was asked
// for, since their best is not known. A goal says how many of how many, why, and the worst of them:
//
//   "left_out": [{"rows": N, "of": N, "why": "text", "worst": X}...]
//
// Pure.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::bench {

inline constexpr std::size_t kLeastSizes = 30;

[[nodiscard]] nlohmann::json planner_goals(const nlohmann::json& rows);

}  // namespace aqua::bench
