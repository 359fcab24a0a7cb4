// SPDX-License-Identifier: Apache-2.0
// From a model, a machine and lengths to what the planner of pipelines is asked, and to what serves
// requests by its plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "aqua/kv_stream/plan.hpp"
#include "aqua/result.hpp"
#include "tools/sim/cost/cost_model.hpp"
#include "tools/sim/input/spec.hpp"
#include "tools/sim/pipeline/pass.hpp"
#include "tools/sim/pipeline/requests.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

struct MachineGround {
  ModelSpec model;
  ServerSpec server;  // a machine, all of whose GPUs share each layer
  CostModel cost;
  std::vector<Source> sources;
  MachineLinks links;
};

struct MachineOptions {
  std::filesystem::path profiles{};        // empty: the roofline alone
  std::uint32_t max_pass_tokens = 65'536;  // that are computed at once; more in several batches
};
// invalid_argument: a server that says nothing of its network. Otherwise as CostModel::build.
[[nodiscard]] Result<MachineGround> machine_ground(const ModelSpec& model, const ServerSpec& server,
                                                   const MachineOptions& options);

// How microbatches may be swapped: never, where the planner finds it faster, or wherever a pipeline
// has something to swap.
enum class Swapping : std::uint8_t { never, may, must };

// Lets the planner swap, over the links of all GPUs of a machine: to host memory over PCIe, and to
// `lent_bytes` of neighbours over NVLink. Adds the sources of both.
// invalid_argument: a server that says nothing of its host memory.
[[nodiscard]] Result<void> allow_swapping(kv_stream::PlanInput& input, MachineGround& ground,
                                          const std::filesystem::path& profiles, Swapping swapping,
                                          double lent_bytes);

// What the KV of so many prompts of the mean length takes over a machine's link.
[[nodiscard]] double stream_seconds(const MachineGround& ground, const PipelineLengths& lengths,
                                    std::uint32_t requests);

// Memory is planned for the longest prompt and the longest answer, times are of the mean ones.
// Embedding and head count on every machine, as does what the server's file keeps free.
[[nodiscard]] kv_stream::PlanInput plan_input(const MachineGround& ground,
                                              const PipelineLengths& lengths,
                                              std::uint32_t machines,
                                              const std::vector<std::uint32_t>& microbatches);

// The split's pipelines on these machines, with links and host memory.
[[nodiscard]] PipelineShape shape_of(const MachineGround& ground, const kv_stream::PlanInput& input,
                                     const kv_stream::Split& split);

}  // namespace aqua::sim
