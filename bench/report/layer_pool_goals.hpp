// SPDX-License-Identifier: Apache-2.0
// From layer_pool_bench's rows to its goals: of a part that did not run there are none; unmeasured
// where a row lacks the figure, or where a load was none. Ratios are medians. Of a part that ran
// several times the worst counts. Pure.
#pragma once

#include <nlohmann/json.hpp>

namespace aqua::bench {

[[nodiscard]] nlohmann::json layer_pool_goals(const nlohmann::json& rows);

}  // namespace aqua::bench
