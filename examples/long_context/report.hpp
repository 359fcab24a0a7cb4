// SPDX-License-Identifier: Apache-2.0
// What a run amounts to: a table for people, JSON for programs, and the verdict.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure.hpp"
#include "options.hpp"

namespace aqua::long_context {

struct RunRecord {
  const Options& options;
  StepTimes times{};
  LayerPoolStatus measured{};  // when all was measured
  bool same_digest = false;    // then, as where nothing is away
  nlohmann::json reclaim{};    // null: not asked for
  std::size_t lost_tensors = 0;
};

[[nodiscard]] nlohmann::json to_json(const RunRecord& record, const Engine& engine,
                                     const Engine& resident);
void print_summary(const nlohmann::json& report);
// What was asked of the run and is not so; empty when it went well.
[[nodiscard]] std::vector<std::string> complaints(const nlohmann::json& report);

}  // namespace aqua::long_context
