// SPDX-License-Identifier: Apache-2.0
// What several workloads of `aqua simulate` report alike.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/sim/report/metrics.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::tool {

[[nodiscard]] nlohmann::json metrics_json(const sim::Metrics& metrics);
// Where a ground's figures come from.
[[nodiscard]] nlohmann::json sources_json(const sim::Ground& ground);
[[nodiscard]] std::string sources_text(const sim::Ground& ground);

}  // namespace aqua::tool
