// SPDX-License-Identifier: Apache-2.0
// A scheduler's status as metrics in Prometheus' text format, for engines to add to what they
// answer at /metrics (beside aqua/northbound/load_metrics.hpp). Header only.
//
// Threads: plain functions.
// Units:   sequences, switches, answers, tokens a second, as the names say.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "aqua/northbound/metrics_text.hpp"
#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule {

// Scheduler::status(). Of `aqua_engine_sharing` the present way of sharing is 1 and the others are
// 0; docs/operate/metrics.md has a sentence for each.
[[nodiscard]] inline std::string to_metrics(const SchedulerStatus& status) {
  MetricsText metrics;
  metrics.type("aqua_engine_sequences", "gauge");
  metrics.sample("state", to_string(SequenceState::waiting), status.waiting);
  metrics.sample("state", to_string(SequenceState::resident), status.resident);
  metrics.sample("state", to_string(SequenceState::paging_out), status.paging_out);
  metrics.sample("state", to_string(SequenceState::swapped), status.swapped);
  metrics.sample("state", to_string(SequenceState::paging_in), status.paging_in);
  metrics.type("aqua_engine_sharing", "gauge");
  for (const Sharing each : kSharings) {
    metrics.sample("sharing", to_string(each), each == status.sharing ? 1 : 0);
  }
  metrics.type("aqua_engine_sharing_switches_total", "counter");
  for (const Sharing each : kSharings) {
    metrics.sample("to", to_string(each), status.switched_to[static_cast<std::size_t>(each)]);
  }
  metrics.type("aqua_engine_answers", "gauge");
  metrics.sample("kept", "paced", status.paced);
  metrics.sample("kept", "backlog", status.backlog);
  metrics.type("aqua_engine_paced_tokens_per_second", "gauge");
  metrics.sample("tokens", "asked", status.asked_per_second);
  metrics.sample("tokens", "sustained", status.sustained_per_second);
  return std::move(metrics).text();
}

}  // namespace aqua::schedule
