// SPDX-License-Identifier: Apache-2.0
// What a run amounts to: a table for people, JSON for programs, and the verdict.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "schedule.hpp"
#include "swap/swapped_layers.hpp"
#include "tensor_parking.hpp"

namespace aqua::llama_example {

struct RunRecord {
  const Options& options;
  const Model& model;
  const std::vector<ChatRequest>& requests;
  Served unpreempted{}, tensors{}, memory{};
  std::optional<Served> recomputed{};
  std::optional<SwappedLayers> swapped{};
  TensorParking::Stats parking{};
  nlohmann::json reclaim{}, blocks{}, prefixes{}, resuming{};  // null where there was none
};

[[nodiscard]] nlohmann::json to_json(const RunRecord& record);
// One run, and how it stands against another one of the same conversations.
[[nodiscard]] nlohmann::json to_json(const Served& run, const Served& reference);
void print_summary(const nlohmann::json& report);
// What was asked of the run and is not so; empty when it went well.
[[nodiscard]] std::vector<std::string> complaints(const nlohmann::json& report);

}  // namespace aqua::llama_example
