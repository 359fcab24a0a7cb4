// SPDX-License-Identifier: Apache-2.0
// An engine's load reports, and what really ran of its copies, as metrics in Prometheus' text
// format. An engine that adds them to what it answers at /metrics shows them to people, and lets
// `aqua profile --memory aqua` read how much of its KV memory it uses. Header only.
//
// Threads: plain functions.
// Units:   bytes, requests, seconds, batches of copies, as the names say.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "aqua/copy_status.hpp"
#include "aqua/northbound/load.hpp"
#include "aqua/northbound/metrics_text.hpp"

namespace aqua {

inline constexpr std::string_view kMetricKvUsed = "aqua_engine_kv_bytes_used";
inline constexpr std::string_view kMetricKvTotal = "aqua_engine_kv_bytes_total";

// The newest report of an engine that has `kv_bytes_total` of KV memory. Latencies that were not
// measured are left out.
[[nodiscard]] inline std::string to_metrics(const LoadReport& report, std::size_t kv_bytes_total) {
  MetricsText metrics;
  const auto latency = [&](std::string_view name, const Latency& measured) {
    if (measured == Latency{}) return;
    using Seconds = std::chrono::duration<double>;
    metrics.type(name, "gauge");
    metrics.sample("quantile", "0.5", Seconds(measured.p50).count());
    metrics.sample("quantile", "0.99", Seconds(measured.p99).count());
  };
  metrics.gauge("aqua_engine_requests_per_second", report.requests_per_second);
  metrics.gauge("aqua_engine_queue_length", report.queue_length);
  metrics.gauge(kMetricKvUsed, report.kv_bytes_used);
  metrics.gauge("aqua_engine_kv_bytes_wanted", report.kv_bytes_wanted);
  metrics.gauge(kMetricKvTotal, kv_bytes_total);
  latency("aqua_engine_time_to_first_token_seconds", report.time_to_first_token);
  latency("aqua_engine_time_per_output_token_seconds", report.time_per_output_token);
  return std::move(metrics).text();
}

// RuntimeStatus::copies. Of the reasons for which a faster way was passed over, `unsupported` is as
// planned; where one of the others grows, transfers are slower than planned.
[[nodiscard]] inline std::string to_metrics(const CopyStatus& copies) {
  MetricsText metrics;
  metrics.type("aqua_engine_copies_total", "counter");
  metrics.sample("way", "kernel", copies.kernel);
  metrics.sample("way", "batched", copies.batched);
  metrics.sample("way", "each", copies.each);
  metrics.type("aqua_engine_copies_passed_over_total", "counter");
  metrics.sample("why", "unsupported", copies.unsupported);
  metrics.sample("why", "unreachable", copies.unreachable);
  metrics.sample("why", "full", copies.full);
  metrics.sample("why", "refused", copies.refused);
  return std::move(metrics).text();
}

}  // namespace aqua
