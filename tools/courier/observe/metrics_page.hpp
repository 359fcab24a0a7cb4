// SPDX-License-Identifier: Apache-2.0
// MetricsPage answers GET /metrics with what a courier has done, as Prometheus reads it, and GET
// /readyz with 200 once all of its connections to others are up, else with 503 and what is down.
//
// Threads: a few of its own. The destructor ends them.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"
#include "tools/courier/carry/route_state.hpp"
#include "tools/courier/net/mutual_tls.hpp"

namespace aqua::courier {

using RouteStates = std::list<RouteState>;

[[nodiscard]] std::string metrics_text(const Counters& counters, const RouteStates& routes,
                                       const MutualTls& identity);
// Whether the keeper listens and all are up, and a line for each that is not.
[[nodiscard]] std::pair<bool, std::string> readiness_text(const Counters& counters,
                                                          const RouteStates& routes,
                                                          const std::string& keeper);

class MetricsPage {
 public:
  // At HOST:PORT. `keeper`: path of its socket, as SegmentsOptions::keeper. unavailable: it cannot
  // listen there. All that is referred to outlives it.
  [[nodiscard]] static Result<std::unique_ptr<MetricsPage>> open(const std::string& address,
                                                                 const Counters& counters,
                                                                 const RouteStates& routes,
                                                                 const std::string& keeper,
                                                                 const MutualTls& identity);
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  [[nodiscard]] int port() const;

 private:
  struct Impl;
  explicit MetricsPage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace aqua::courier
