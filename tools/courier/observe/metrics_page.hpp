// SPDX-License-Identifier: Apache-2.0
// MetricsPage answers GET /metrics with what a courier has done, as Prometheus reads it, and GET
// /readyz with 200 once all of its connections to others are up, else with 503.
//
// Threads: a few of its own. The destructor ends them.
#pragma once

#include <memory>
#include <string>

#include "aqua/result.hpp"
#include "tools/courier/carry/counters.hpp"

namespace aqua::courier {

// `routes`: connections that there have to be to other couriers.
[[nodiscard]] std::string metrics_text(const Counters& counters, std::size_t routes);

class MetricsPage {
 public:
  // At HOST:PORT. unavailable: it cannot listen there. The counters outlive it.
  [[nodiscard]] static Result<std::unique_ptr<MetricsPage>> open(const std::string& address,
                                                                 const Counters& counters,
                                                                 std::size_t routes);
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
