// SPDX-License-Identifier: Apache-2.0
// aqua plan: one pipeline, several, or prefill and decode apart?
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "aqua/result.hpp"
#include "tools/cli/plan/plan_options.hpp"
#include "tools/sim/pipeline/planning.hpp"

namespace aqua::tool {

// The best split of a policy as the simulator has it, in seconds a request.
struct SimulatedSplit {
  double equal = 0;  // requests are alike, as the planner takes them to be
  double own = 0;    // each answer has its own length, and a microbatch ends with its longest
  double own_refilled = 0;  // the same, and whoever ends is replaced at once
};

// Whether microbatches are to be swapped: the fastest split that swaps beside the fastest that does
// not.
struct SwapVerdict {
  std::optional<kv_stream::Split> swapped{}, kept{};
  // Throughput with swapping over that without; 0 unless both are there.
  [[nodiscard]] double gain() const {
    return swapped && kept ? kept->seconds_per_request / swapped->seconds_per_request : 0;
  }
};

struct PlannedMachines {
  kv_stream::PlanInput input{};
  kv_stream::Plan plan{};
  std::array<std::optional<SimulatedSplit>, 4> simulated{};  // by policy
  std::vector<kv_stream::Split> splits{};                    // with --explain
  std::optional<SwapVerdict> swap{};                         // unless --swap never
};

// The text to print. resource_exhausted: no split fits, and what would do.
[[nodiscard]] Result<std::string> run_plan(const PlanOptions& options);

// How many are simulated if so many come at once (0: without end): no more, and 2 at least.
[[nodiscard]] std::uint64_t simulated_requests(const PlanOptions& options, std::uint64_t at_once);

// As text and as JSON, of each number of machines.
[[nodiscard]] std::string plan_text(const PlanOptions& options, const sim::MachineGround& ground,
                                    const sim::PipelineLengths& lengths,
                                    const std::vector<PlannedMachines>& all);
[[nodiscard]] std::string plan_json(const PlanOptions& options, const sim::MachineGround& ground,
                                    const sim::PipelineLengths& lengths,
                                    const std::vector<PlannedMachines>& all);

}  // namespace aqua::tool
