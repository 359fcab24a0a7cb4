// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/report/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace aqua::sim {
namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double quantile(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  const auto place = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

Metrics measure(const RunOutcome& outcome, const Sla& sla) {
  std::vector<double> ttft, tpot, latency, gap;
  std::uint64_t good = 0;
  Metrics metrics;
  for (const RequestOutcome& request : outcome.requests) {
    if (request.refused()) {
      ++metrics.refused;
      continue;
    }
    ttft.push_back(request.ttft());
    latency.push_back(request.latency());
    if (request.output_tokens > 1) {
      tpot.push_back(request.tpot());
      gap.push_back(seconds(request.longest_gap));
    }
    if (request.ttft() <= sla.ttft_s && request.tpot() <= sla.tpot_s) ++good;
  }
  metrics.completed = ttft.size();
  metrics.ttft_mean_s = mean(ttft);
  metrics.tpot_mean_s = mean(tpot);
  metrics.latency_mean_s = mean(latency);
  metrics.ttft_p50_s = quantile(ttft, 0.5);
  metrics.ttft_p90_s = quantile(ttft, 0.9);
  metrics.ttft_p99_s = quantile(ttft, 0.99);
  metrics.ttft_max_s = quantile(ttft, 1);
  metrics.tpot_p99_s = quantile(tpot, 0.99);
  metrics.longest_gap_p99_s = quantile(gap, 0.99);
  metrics.latency_p50_s = quantile(latency, 0.5);
  metrics.latency_p99_s = quantile(latency, 0.99);
  metrics.makespan_s = seconds(outcome.makespan);
  if (metrics.makespan_s > 0) {
    metrics.throughput_tokens_s =
        static_cast<double>(outcome.totals.output_tokens) / metrics.makespan_s;
    metrics.goodput_rps = static_cast<double>(good) / metrics.makespan_s;
  }
  if (!outcome.requests.empty()) {
    metrics.within_sla = static_cast<double>(good) / static_cast<double>(outcome.requests.size());
  }
  return metrics;
}

Interval confidence(const std::vector<double>& values) {
  const std::size_t n = values.size();
  Interval interval{.mean = mean(values)};
  if (n < 2) return interval;
  double squares = 0;
  for (const double value : values) squares += (value - interval.mean) * (value - interval.mean);
  const double deviation = std::sqrt(squares / static_cast<double>(n - 1));
  // Student's t at 97.5 %, by degrees of freedom; beyond 30 the normal distribution's.
  constexpr std::array<double, 30> kT{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                      2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                      2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                      2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const double t = n - 2 < kT.size() ? kT[n - 2] : 1.96;
  interval.half_width = t * deviation / std::sqrt(static_cast<double>(n));
  return interval;
}

}  // namespace aqua::sim
