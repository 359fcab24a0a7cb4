// SPDX-License-Identifier: Apache-2.0
// What a planner cannot plan with.
#pragma once

#include "aqua/kv_stream/plan.hpp"
#include "aqua/result.hpp"

namespace aqua::kv_stream {

// invalid_argument names the field, what it is, and the nearest that would do.
[[nodiscard]] Result<void> check(const char* call, const PlanInput& input);

}  // namespace aqua::kv_stream
