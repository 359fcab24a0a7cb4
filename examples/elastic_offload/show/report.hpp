// SPDX-License-Identifier: Apache-2.0
// What a run amounts to: a table for people, JSON for programs, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "play.hpp"

namespace aqua::example {

// Everything that the report needs, gathered once the processes have ended.
struct RunRecord {
  const Options& options;
  const Workload& work;
  const Play& play;
  std::vector<ConsumerStats> consumers{};
  std::vector<ProducerStats> producers{};
  double wall_seconds = 0;
};

[[nodiscard]] nlohmann::json to_json(const RunRecord& outcome);
// Lines of at most 79 columns.
[[nodiscard]] std::string summary(const nlohmann::json& report);
// How the reclaim went, in one sentence.
[[nodiscard]] std::string reclaim_sentence(const nlohmann::json& report);
// What was asked of the run and is not so; empty when it went well.
[[nodiscard]] std::vector<std::string> complaints(const nlohmann::json& report);

// What was done to the trace and to the geometry, in lines of at most 79 columns.
[[nodiscard]] std::string describe_scaling(const Options& options, const Workload& work);

}  // namespace aqua::example
