// SPDX-License-Identifier: Apache-2.0
// The router's numbers as Prometheus reads them: docs/operate/router.md lists each.
//
// Threads: free functions.
#pragma once

#include <string>
#include <vector>

#include "tools/router/fleet/fleet.hpp"
#include "tools/router/observe/counters.hpp"

namespace aqua::router {

// The text exposition format, version 0.0.4.
[[nodiscard]] std::string render_metrics(const Counters& counters, const FleetCounts& fleet,
                                         const std::vector<EngineView>& engines);
inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace aqua::router
