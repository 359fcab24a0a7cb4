// SPDX-License-Identifier: Apache-2.0
// From the report of a play to its goals: of a part that did not run there are none, and unmeasured
// is what a part lacks. A goal that is missed ends nothing: figures are told, and answers are
// checked. Pure.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::prefill_decode {

[[nodiscard]] nlohmann::json goals_of(const nlohmann::json& report);

}  // namespace aqua::prefill_decode
