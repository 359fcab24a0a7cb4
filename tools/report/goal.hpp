// SPDX-License-Identifier: Apache-2.0
// What a program that measures is held to, as its report tells it:
//
//   {"goal": "text", "limit": X, "measured": Y, "met": true|false}
//
// `measured` is null, and the goal missed, where the run lacks a figure that the goal needs.
//
// Threads: free functions. judge() is pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace aqua::report {

enum class Bound : unsigned char { at_least, at_most };

[[nodiscard]] nlohmann::json judge(std::string goal, Bound bound, double limit,
                                   std::optional<double> measured);

// A line for each that is not met, on stdout, and how many of all are.
void print_goals(const nlohmann::json& goals);

}  // namespace aqua::report
