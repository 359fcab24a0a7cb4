// SPDX-License-Identifier: Apache-2.0
// How the sequences of a pipeline go on after some of its processes were killed: what the library
// decides (aqua/kv_stream/recovery.hpp), of what the orchestrator knows.
//
// Threads: a function of its arguments. Errors: Failure.
#pragma once

#include <vector>

#include "aqua/kv_stream/recovery.hpp"
#include "aqua/kv_stream/recovery_costs.hpp"
#include "model/toy_model.hpp"
#include "options.hpp"
#include "serve/resuming.hpp"

namespace aqua::pipeline {

struct Interrupted {
  Word sequence = 0;
  std::uint32_t prompt = 0;     // tokens
  std::uint32_t delivered = 0;  // tokens of the answer that are there
  // Its prompt was streamed to this pipeline, and a process that has not taken it may do so still.
  bool streamed = false;
};

// `costs`: as they were measured, unless options say how to go on in any case.
[[nodiscard]] kv_stream::RecoveryInput costs_of(Recover recover,
                                                const kv_stream::RecoveryCosts& costs);
// `lost`: by stage. `marks`: by stage, then by sequence.
[[nodiscard]] kv_stream::RecoveryPlan plan_for(const ModelShape& model,
                                               const PipelineShape& pipeline,
                                               const std::vector<bool>& lost,
                                               const std::vector<Interrupted>& sequences,
                                               const std::vector<std::vector<Mark>>& marks,
                                               kv_stream::RecoveryInput costs);
// What was decided, and by what.
struct Reckoning {
  kv_stream::RecoveryInput costs{};  // of which the rates are filled in
  bool copies_measured = false, computing_measured = false;
  std::size_t sequences_read = 0, sequences_computed = 0;  // of those that miss something
  double seconds = 0, seconds_if_read = 0, seconds_if_computed = 0;
};
[[nodiscard]] Reckoning reckoning_of(const kv_stream::RecoveryPlan& plan,
                                     const kv_stream::RecoveryInput& rates,
                                     const kv_stream::RecoveryCosts& costs);
// As the processes are told.
[[nodiscard]] std::vector<Resume> resumes_of(const kv_stream::RecoveryPlan& plan);

}  // namespace aqua::pipeline
