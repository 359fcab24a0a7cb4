// SPDX-License-Identifier: Apache-2.0
// The figures of Metrics by name, in the order in which reports show them.
#pragma once

#include <array>
#include <string_view>

#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {

struct MetricField {
  std::string_view name;
  double Metrics::*field;
};

inline constexpr std::array<MetricField, 15> kMetricFields{
    {{"ttft_mean_s", &Metrics::ttft_mean_s},
     {"ttft_p50_s", &Metrics::ttft_p50_s},
     {"ttft_p90_s", &Metrics::ttft_p90_s},
     {"ttft_p99_s", &Metrics::ttft_p99_s},
     {"ttft_max_s", &Metrics::ttft_max_s},
     {"tpot_mean_s", &Metrics::tpot_mean_s},
     {"tpot_p99_s", &Metrics::tpot_p99_s},
     {"longest_gap_p99_s", &Metrics::longest_gap_p99_s},
     {"latency_mean_s", &Metrics::latency_mean_s},
     {"latency_p50_s", &Metrics::latency_p50_s},
     {"latency_p99_s", &Metrics::latency_p99_s},
     {"makespan_s", &Metrics::makespan_s},
     {"throughput_tokens_s", &Metrics::throughput_tokens_s},
     {"goodput_rps", &Metrics::goodput_rps},
     {"within_sla", &Metrics::within_sla}}};

}  // namespace aqua::sim
