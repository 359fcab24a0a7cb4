// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format, as far as figures are looked up in it by name.
// Threads: plain functions. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aqua::http {

struct MetricSample {
  std::map<std::string, std::string> labels{};
  double value = 0;
};

// Every sample of that name, in their order; lines that are damaged are passed over.
[[nodiscard]] std::vector<MetricSample> find_metric(std::string_view text, std::string_view name);
// Their sum; none when there is none, or one is not a finite number.
[[nodiscard]] std::optional<double> metric_sum(std::string_view text, std::string_view name);

}  // namespace aqua::http
