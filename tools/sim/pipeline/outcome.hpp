// SPDX-License-Identifier: Apache-2.0
// What a run of pipelines leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/sim/engine/outcome.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

// A stage's work on one pass.
struct StageSpan {
  std::uint32_t pipeline = 0, stage = 0;
  std::uint64_t microbatch = 0;  // counts from 0
  Picos begin = 0, end = 0;
  std::uint32_t prompts = 0, decodes = 0;
};

// A stage is a machine. Prompt pipelines come first.
struct MachineUse {
  std::uint32_t pipeline = 0, stage = 0;
  bool prompts = false;  // of a prompt pipeline
  Picos busy = 0;
  std::uint64_t peak_bytes = 0;       // weights, KV and what is reserved
  std::uint64_t peak_host_bytes = 0;  // of prompts that wait, and of what is swapped
};

struct PipelineOutcome {
  std::vector<RequestOutcome> requests;  // as in the workload
  Picos makespan = 0;                    // first arrival to last finish
  std::uint64_t prompt_tokens = 0;       // computed
  std::uint64_t output_tokens = 0;       // given to users
  std::uint64_t passes = 0;
  double activation_bytes = 0, streamed_bytes = 0, swapped_bytes = 0;
  std::uint64_t outages = 0;
  Picos down = 0;        // of all outages, from the failure until the pipeline goes on
  Picos store_full = 0;  // how long prompts could not begin since no host memory was left for them
  bool cut_off = false;  // a limit was exceeded: the rest is of what was played until then
  std::vector<MachineUse> machines;
  std::vector<StageSpan> spans;  // if a timeline was asked for
};

}  // namespace aqua::sim
