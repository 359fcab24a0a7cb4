// SPDX-License-Identifier: Apache-2.0
// An engine's load reports, and what really ran of its copies, as metrics in Prometheus' text
// format. An engine that adds them to what it answers at /metrics shows them to people, and lets
// `aqua profile --memory aqua` read how much of its KV memory it uses. Header only.
//
// Threads: plain functions.
// Units:   bytes, requests, seconds, batches of copies, as the names say.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

#include "aqua/copy_status.hpp"
#include "aqua/northbound/load.hpp"

namespace aqua {

inline constexpr std::string_view kMetricKvUsed = "aqua_engine_kv_bytes_used";
inline constexpr std::string_view kMetricKvTotal = "aqua_engine_kv_bytes_total";

namespace detail {

inline void add_sample(std::string& text, std::string_view name, std::string_view label,
                       auto value) {
  std::array<char, 32> digits{};  // the longest double has 24
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(name).append(label).append(" ").append(digits.data(), end).append("\n");
}

}  // namespace detail

// The newest report of an engine that has `kv_bytes_total` of KV memory. Latencies that were not
// measured are left out.
[[nodiscard]] inline std::string to_metrics(const LoadReport& report, std::size_t kv_bytes_total) {
  std::string text;
  const auto sample = [&](std::string_view name, std::string_view label, auto value) {
    detail::add_sample(text, name, label, value);
  };
  const auto gauge = [&](std::string_view name, auto value) {
    text.append("# TYPE ").append(name).append(" gauge\n");
    sample(name, "", value);
  };
  const auto latency = [&](std::string_view name, const Latency& measured) {
    if (measured == Latency{}) return;
    using Seconds = std::chrono::duration<double>;
    text.append("# TYPE ").append(name).append(" gauge\n");
    sample(name, "{quantile=\"0.5\"}", Seconds(measured.p50).count());
    sample(name, "{quantile=\"0.99\"}", Seconds(measured.p99).count());
  };
  gauge("aqua_engine_requests_per_second", report.requests_per_second);
  gauge("aqua_engine_queue_length", report.queue_length);
  gauge(kMetricKvUsed, report.kv_bytes_used);
  gauge("aqua_engine_kv_bytes_wanted", report.kv_bytes_wanted);
  gauge(kMetricKvTotal, kv_bytes_total);
  latency("aqua_engine_time_to_first_token_seconds", report.time_to_first_token);
  latency("aqua_engine_time_per_output_token_seconds", report.time_per_output_token);
  return text;
}

// RuntimeStatus::copies. Of the reasons for which a faster way was passed over, `unsupported` is as
// planned; where one of the others grows, transfers are slower than planned.
[[nodiscard]] inline std::string to_metrics(const CopyStatus& copies) {
  constexpr std::string_view kRan = "aqua_engine_copies_total";
  constexpr std::string_view kPassedOver = "aqua_engine_copies_passed_over_total";
  std::string text;
  text.append("# TYPE ").append(kRan).append(" counter\n");
  detail::add_sample(text, kRan, "{way=\"kernel\"}", copies.kernel);
  detail::add_sample(text, kRan, "{way=\"batched\"}", copies.batched);
  detail::add_sample(text, kRan, "{way=\"each\"}", copies.each);
  text.append("# TYPE ").append(kPassedOver).append(" counter\n");
  detail::add_sample(text, kPassedOver, "{why=\"unsupported\"}", copies.unsupported);
  detail::add_sample(text, kPassedOver, "{why=\"unreachable\"}", copies.unreachable);
  detail::add_sample(text, kPassedOver, "{why=\"full\"}", copies.full);
  detail::add_sample(text, kPassedOver, "{why=\"refused\"}", copies.refused);
  return text;
}

}  // namespace aqua
