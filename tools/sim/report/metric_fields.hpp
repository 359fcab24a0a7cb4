// SPDX-License-Identifier: Apache-2.0
// The figures of Metrics by name, in the order in which reports show them.
#pragma once

#include <array>
#include <string_view>

#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {

struct MetricField {
  std::string_view name;  // in JSON, in the unit of Metrics
  double Metrics::*field;
  std::string_view words;  // with the unit that people read it in
  double scale;            // to that unit
  int digits;              // after the point
};

inline constexpr std::array<MetricField, 15> kMetricFields{
    {{"ttft_mean_s", &Metrics::ttft_mean_s, "time to first token, mean, s", 1, 2},
     {"ttft_p50_s", &Metrics::ttft_p50_s, "time to first token, p50, s", 1, 2},
     {"ttft_p90_s", &Metrics::ttft_p90_s, "time to first token, p90, s", 1, 2},
     {"ttft_p99_s", &Metrics::ttft_p99_s, "time to first token, p99, s", 1, 2},
     {"ttft_max_s", &Metrics::ttft_max_s, "time to first token, longest, s", 1, 2},
     {"tpot_mean_s", &Metrics::tpot_mean_s, "time per token, mean, ms", 1e3, 1},
     {"tpot_p99_s", &Metrics::tpot_p99_s, "time per token, p99, ms", 1e3, 1},
     {"longest_gap_p99_s", &Metrics::longest_gap_p99_s,
      "a request's longest pause between tokens, p99, s", 1, 2},
     {"latency_mean_s", &Metrics::latency_mean_s, "time to the last token, mean, s", 1, 2},
     {"latency_p50_s", &Metrics::latency_p50_s, "time to the last token, p50, s", 1, 2},
     {"latency_p99_s", &Metrics::latency_p99_s, "time to the last token, p99, s", 1, 2},
     {"makespan_s", &Metrics::makespan_s, "until all are served, s", 1, 1},
     {"throughput_tokens_s", &Metrics::throughput_tokens_s, "tokens a second", 1, 0},
     {"goodput_rps", &Metrics::goodput_rps, "requests within the SLA, a second", 1, 2},
     {"within_sla", &Metrics::within_sla, "requests within the SLA, %", 100, 1}}};

}  // namespace aqua::sim
