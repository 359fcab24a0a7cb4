// SPDX-License-Identifier: Apache-2.0
// How the sequences of a pipeline go on after some of its processes were killed: what the library
// decides (aqua/kv_stream/recovery.hpp), of what the orchestrator knows.
//
// Threads: a function of its arguments. Errors: Failure.
#pragma once

#include <vector>

#include "aqua/kv_stream/recovery.hpp"
#include "model/toy_model.hpp"
#include "serve/resuming.hpp"

namespace aqua::pipeline {

struct Interrupted {
  Word sequence = 0;
  std::uint32_t prompt = 0;     // tokens
  std::uint32_t delivered = 0;  // tokens of the answer that are there
  // Its prompt was streamed to this pipeline, and a process that has not taken it may do so still.
  bool streamed = false;
};

// What recovery is measured against: how fast a stage reads, and computes.
struct RecoveryRates {
  double link_bytes_per_second = 1e9;  // of the copies of an emulated device, roughly
  double prefill_seconds_per_token = 1e-4;
};

// `lost`: by stage. `marks`: by stage, then by sequence.
[[nodiscard]] kv_stream::RecoveryPlan plan_for(const ModelShape& model,
                                               const PipelineShape& pipeline,
                                               const std::vector<bool>& lost,
                                               const std::vector<Interrupted>& sequences,
                                               const std::vector<std::vector<Mark>>& marks,
                                               const RecoveryRates& rates);
// As the processes are told.
[[nodiscard]] std::vector<Resume> resumes_of(const kv_stream::RecoveryPlan& plan);

}  // namespace aqua::pipeline
