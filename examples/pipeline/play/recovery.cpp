// SPDX-License-Identifier: Apache-2.0
#include "play/recovery.hpp"

#include <utility>

#include "must.hpp"

namespace aqua::pipeline {

kv_stream::RecoveryPlan plan_for(const ModelShape& model, const PipelineShape& pipeline,
                                 const std::vector<bool>& lost,
                                 const std::vector<Interrupted>& sequences,
                                 const std::vector<std::vector<Mark>>& marks,
                                 const RecoveryRates& rates) {
  kv_stream::RecoveryInput input{
      .lost_workers = lost,
      // One keeper serves all stages. Where it is lost, nobody has found a replica: marks say none.
      .lost_keepers = std::vector<bool>(lost.size(), false),
      .link_bytes_per_second = rates.link_bytes_per_second,
      .prefill_seconds_per_token = rates.prefill_seconds_per_token};
  for (unsigned stage = 0; stage < pipeline.stages; ++stage) {
    const Part part = part_of(model, pipeline, stage, 0);
    input.token_bytes.push_back(std::uint64_t{2} * part.layers.count * model.kv_heads *
                                model.head_bytes);
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Interrupted& each = sequences[i];
    kv_stream::SequenceState state{
        .sequence = each.sequence, .prompt_tokens = each.prompt, .delivered = each.delivered};
    for (unsigned stage = 0; stage < pipeline.stages; ++stage) {
      const Mark& mark = marks[stage][i];
      const bool comes = each.streamed && each.delivered == 1 && mark.untouched;
      state.cached.push_back(comes ? each.prompt : mark.cached);
      if (lost[stage] && mark.replica > 0)
        state.replicas.push_back(
            {.stage = stage, .keeper = (stage + 1) % pipeline.stages, .tokens = mark.replica});
    }
    input.sequences.push_back(std::move(state));
  }
  return example::must(kv_stream::plan_recovery(input), "recovery");
}

std::vector<Resume> resumes_of(const kv_stream::RecoveryPlan& plan) {
  std::vector<Resume> all;
  for (const kv_stream::Resumed& each : plan.sequences) {
    Resume resume{.sequence = each.sequence, .from = each.from};
    for (const kv_stream::Replica& read : each.reads) resume.reads.push_back(read.stage);
    all.push_back(std::move(resume));
  }
  return all;
}

}  // namespace aqua::pipeline
