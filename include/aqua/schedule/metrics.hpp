// SPDX-License-Identifier: Apache-2.0
// A scheduler's status as metrics in Prometheus' text format, for engines to add to what they
// answer at /metrics (beside aqua/northbound/load_metrics.hpp). Header only.
//
// Threads: plain functions.
// Units:   sequences, switches, answers, as the names say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/northbound/load_metrics.hpp"
#include "aqua/schedule/scheduler.hpp"

namespace aqua::schedule {

// Scheduler::status(). Of `aqua_engine_sharing` the present way of sharing is 1 and the others are
// 0; docs/operate/metrics.md has why() for each.
[[nodiscard]] inline std::string to_metrics(const SchedulerStatus& status) {
  std::string text;
  const auto type = [&](std::string_view name, std::string_view kind) {
    text.append("# TYPE ").append(name).append(" ").append(kind).append("\n");
  };
  const auto sample = [&](std::string_view name, std::string_view label, std::string_view is,
                          auto value) {
    std::string labels("{");
    labels.append(label).append("=\"").append(is).append("\"}");
    aqua::detail::add_sample(text, name, labels, value);
  };
  constexpr std::string_view kSequences = "aqua_engine_sequences";
  type(kSequences, "gauge");
  sample(kSequences, "state", to_string(SequenceState::waiting), status.waiting);
  sample(kSequences, "state", to_string(SequenceState::resident), status.resident);
  sample(kSequences, "state", to_string(SequenceState::paging_out), status.paging_out);
  sample(kSequences, "state", to_string(SequenceState::swapped), status.swapped);
  sample(kSequences, "state", to_string(SequenceState::paging_in), status.paging_in);
  constexpr std::string_view kSharing = "aqua_engine_sharing";
  type(kSharing, "gauge");
  for (const Sharing each : kSharings) {
    sample(kSharing, "sharing", to_string(each), each == status.sharing ? 1 : 0);
  }
  constexpr std::string_view kSwitches = "aqua_engine_sharing_switches_total";
  type(kSwitches, "counter");
  for (const Sharing each : kSharings) {
    const std::uint64_t times = status.switched_to[static_cast<std::size_t>(each)];
    sample(kSwitches, "to", to_string(each), times);
  }
  constexpr std::string_view kAnswers = "aqua_engine_answers";
  type(kAnswers, "gauge");
  sample(kAnswers, "kept", "paced", status.paced);
  sample(kAnswers, "kept", "backlog", status.backlog);
  return text;
}

}  // namespace aqua::schedule
