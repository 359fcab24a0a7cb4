// SPDX-License-Identifier: Apache-2.0
#include "play/recovery.hpp"

#include <algorithm>
#include <utility>

#include "must.hpp"

namespace aqua::pipeline {

// A process reads all that it reads before it is connected, and computes nothing meanwhile.
kv_stream::RecoveryInput costs_of(Recover recover, const kv_stream::RecoveryCosts& costs) {
  kv_stream::RecoveryInput input{.link_bytes_per_second = costs.link_bytes_per_second(),
                                 .prefill_seconds_per_token = costs.prefill_seconds_per_token(),
                                 .reads_first = true};
  constexpr double kFree = 1e15, kDear = 1e-3;  // bytes a second
  if (recover == Recover::reading) input.link_bytes_per_second = kFree;
  if (recover == Recover::prefill) input.link_bytes_per_second = kDear;
  return input;
}

kv_stream::RecoveryPlan plan_for(const ModelShape& model, const PipelineShape& pipeline,
                                 const std::vector<bool>& lost,
                                 const std::vector<Interrupted>& sequences,
                                 const std::vector<std::vector<Mark>>& marks,
                                 kv_stream::RecoveryInput input) {
  input.lost_workers = lost;
  // One keeper serves all stages. Where it is lost, nobody has found a replica: marks say none.
  input.lost_keepers.assign(lost.size(), false);
  for (unsigned stage = 0; stage < pipeline.stages; ++stage) {
    // The ranks of a stage copy at the same time, each at the rate that one was measured at: the
    // one that copies most counts.
    std::uint64_t most = 0;
    for (unsigned rank = 0; rank < pipeline.ranks; ++rank) {
      const Part part = part_of(model, pipeline, stage, rank);
      most = std::max(
          most, std::uint64_t{2} * part.layers.count * part.kv_heads.count * model.head_bytes);
    }
    input.token_bytes.push_back(most);
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

Reckoning reckoning_of(const kv_stream::RecoveryPlan& plan, const kv_stream::RecoveryInput& rates,
                       const kv_stream::RecoveryCosts& costs) {
  Reckoning reckoning{.costs = rates,
                      .copies_measured = costs.copies_measured(),
                      .computing_measured = costs.computing_measured(),
                      .seconds = plan.seconds,
                      .seconds_if_read = plan.seconds_if_read,
                      .seconds_if_computed = plan.seconds_if_computed};
  for (const kv_stream::Resumed& each : plan.sequences) {
    if (!each.reads.empty()) {
      ++reckoning.sequences_read;
    } else if (each.from + 1 < each.known) {
      ++reckoning.sequences_computed;
    }
  }
  return reckoning;
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
