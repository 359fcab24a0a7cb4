// SPDX-License-Identifier: Apache-2.0
// What is reported of an outcome. Requests that were refused count as arrivals that met no goal.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/sim/engine/outcome.hpp"

namespace aqua::sim {

struct Sla {
  double ttft_s = 1;    // Aqua, section 4.1 (after Sarathi-Serve): first token under a second
  double tpot_s = 0.1;  // tokens 100 ms apart
};

struct Metrics {
  double ttft_mean_s = 0, ttft_p50_s = 0, ttft_p90_s = 0, ttft_p99_s = 0, ttft_max_s = 0;
  double tpot_mean_s = 0, tpot_p99_s = 0;
  double longest_gap_p99_s = 0;  // of each request, the longest time between two tokens
  double latency_mean_s = 0, latency_p50_s = 0, latency_p99_s = 0;
  double makespan_s = 0;
  double throughput_tokens_s = 0;
  double goodput_rps = 0;  // requests within the SLA, a second of makespan
  double within_sla = 0;   // share of all
  std::uint64_t completed = 0, refused = 0;
};

[[nodiscard]] Metrics measure(const RunOutcome& outcome, const Sla& sla);

// The smallest value that at least `q` of them do not exceed (nearest rank); 0 of none. Reorders.
[[nodiscard]] double quantile(std::vector<double>& values, double q);

// Mean and half-width of its 95 % confidence interval (Student's t); 0 with one value.
struct Interval {
  double mean = 0;
  double half_width = 0;
};
[[nodiscard]] Interval confidence(const std::vector<double>& values);

}  // namespace aqua::sim
