// SPDX-License-Identifier: Apache-2.0
// Workload: the requests of a trace, scaled to the demonstration and dealt out to consumers.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trace.hpp"

namespace aqua::example {

struct WorkItem {
  std::uint64_t id = 0;  // unique in a run
  std::uint64_t arrival_ms = 0;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WorkItem, id, arrival_ms, prompt_tokens, output_tokens)

struct WorkloadOptions {
  std::filesystem::path trace{};  // empty: made up
  std::size_t requests = 0;
  std::uint64_t seed = 1;  // of the made-up trace
  // The requests are made to arrive in this time, if they took longer in the trace.
  std::chrono::milliseconds arrivals_in{0};
  double output_scale = 1;  // of the number of output tokens
};

struct Workload {
  std::vector<WorkItem> items{};  // in order of arrival
  // What was done to the trace, for the reader of the output.
  std::string source{};
  double arrivals_faster = 1;  // than in the trace
  double output_scale = 1;
  std::size_t prompts_cut = 0, outputs_cut = 0;        // to kMaxPromptTokens, kMaxOutputTokens
  std::uint64_t prompt_tokens = 0, output_tokens = 0;  // of all items
};

// Throws Failure where the trace cannot be read.
[[nodiscard]] Workload load_workload(const WorkloadOptions& options);

}  // namespace aqua::example
