// SPDX-License-Identifier: Apache-2.0
// How the sequences of a pipeline go on after some of its processes were killed: what the library
// decides (aqua/kv_stream/recovery.hpp), of what the orchestrator knows.
//
// Threads: a function of its arguments. Errors: Failure.
#pragma once

#include <vector>

#include "aqua/kv_stream/recovery.hpp"
#include "model/toy_model.hpp"

namespace aqua::pipeline {

struct Interrupted {
  Word sequence = 0;
  std::uint32_t prompt = 0;     // tokens
  std::uint32_t delivered = 0;  // tokens of the answer that are there
};

// `lost`: by stage. There are no replicas yet: what a lost stage had is computed again.
[[nodiscard]] kv_stream::RecoveryPlan plan_for(const ModelShape& model,
                                               const PipelineShape& pipeline,
                                               const std::vector<bool>& lost,
                                               const std::vector<Interrupted>& sequences);

}  // namespace aqua::pipeline
