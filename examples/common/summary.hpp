// SPDX-License-Identifier: Apache-2.0
// Sets of measurements as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/report/samples.hpp"

namespace aqua::example {

[[nodiscard]] inline nlohmann::json summary(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", report::median(samples)},      {"p10", report::quantile(samples, 0.1)},
          {"p99", report::quantile(samples, 0.99)}, {"min", report::quantile(samples, 0)},
          {"max", report::quantile(samples, 1)},    {"samples", samples.size()}};
}

// The median ratio of two sets measured in alternation.
[[nodiscard]] inline double median_ratio(const std::vector<double>& over,
                                         const std::vector<double>& under) {
  return report::median(report::ratios(over, under));
}

}  // namespace aqua::example
