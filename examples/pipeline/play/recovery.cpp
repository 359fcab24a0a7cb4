// SPDX-License-Identifier: Apache-2.0
#include "play/recovery.hpp"

#include "must.hpp"

namespace aqua::pipeline {

kv_stream::RecoveryPlan plan_for(const ModelShape& model, const PipelineShape& pipeline,
                                 const std::vector<bool>& lost,
                                 const std::vector<Interrupted>& sequences) {
  kv_stream::RecoveryInput input{.lost_workers = lost,
                                 .lost_keepers = std::vector<bool>(lost.size(), false),
                                 // No replica is read, so that these do not change the plan.
                                 .link_bytes_per_second = 1,
                                 .prefill_seconds_per_token = 1};
  for (unsigned stage = 0; stage < pipeline.stages; ++stage) {
    const Part part = part_of(model, pipeline, stage, 0);
    input.token_bytes.push_back(std::uint64_t{2} * part.layers.count * model.kv_heads *
                                model.head_bytes);
  }
  for (const Interrupted& each : sequences) {
    // A token that was sampled has been through all stages but for its own KV.
    const std::uint32_t cached = each.delivered == 0 ? 0 : each.prompt + each.delivered - 1;
    input.sequences.push_back({.sequence = each.sequence,
                               .prompt_tokens = each.prompt,
                               .delivered = each.delivered,
                               .cached = std::vector<std::uint32_t>(pipeline.stages, cached)});
  }
  return example::must(kv_stream::plan_recovery(input), "recovery");
}

}  // namespace aqua::pipeline
