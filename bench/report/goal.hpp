// SPDX-License-Identifier: Apache-2.0
// What benchmarks call the judging of goals, which they share with the examples; and which copies
// count for them. Pure, but print_goals().
#pragma once

#include <nlohmann/json.hpp>

#include "tools/report/goal.hpp"

namespace aqua::bench {

using report::Bound;
using report::judge;
using report::print_goals;

// Whether all copies went as their way says, by what the device tells of them (what_ran.hpp): where
// it tells otherwise, another way was timed. An empty object tells of none.
[[nodiscard]] bool went_as_asked(const nlohmann::json& ran);

}  // namespace aqua::bench
