// SPDX-License-Identifier: Apache-2.0
// What the coordinator is held to, beside what was measured.
//
// Threads: free functions.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::bench {

// One row for each goal that `result` says something about: what, measured, goal, met.
[[nodiscard]] nlohmann::json goals_of(const nlohmann::json& result);

}  // namespace aqua::bench
