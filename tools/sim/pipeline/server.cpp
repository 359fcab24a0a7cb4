// SPDX-License-Identifier: Apache-2.0
// What becomes of microbatches when they have passed.
#include "tools/sim/pipeline/server.hpp"

#include <algorithm>

namespace aqua::sim {

// Gives back what those that have ended held.
void PipelineServer::leave_memory(Microbatch& batch, bool all) {
  std::erase_if(batch.members, [&](const Member& member) {
    if (!all && member.left > 0) return false;
    reserved_[batch.pipeline] -= member.reserved;
    if (shape_.apart()) stores_.ended(batch.pipeline - prompts());
    return true;
  });
}

void PipelineServer::passed(const Work& work, Picos now) {
  Microbatch& batch = batches_[work.slot];
  out_.prompt_tokens += work.pass.prompt_tokens;
  batch.passed([&](const Member& member) {
    RequestOutcome& request = out_.requests[member.request];
    ++out_.output_tokens;
    if (request.first_token == kNever) request.first_token = now;
    if (member.left > 0) return;
    request.finish = now;
    ++ended_;
    slow_ += request.latency() / request.output_tokens > limit_.median_latency ? 1U : 0U;
    out_.makespan = std::max(out_.makespan, now - out_.requests.front().arrival);
  });
  // Somebody's answer ends now or later, and a median has half of the requests above it.
  if (now - out_.requests.front().arrival > limit_.makespan || slow_ > requests_.size() / 2)
    out_.cut_off = true;
  if (work.pipeline < prompts()) return;
  const bool all = batch.ended();
  if (all || shape_.ending == Ending::refill) leave_memory(batch, all);
  if (shape_.ending == Ending::refill) {
    const auto room = static_cast<std::uint32_t>(shape_.token.microbatch - batch.members.size());
    if (!shape_.apart()) {
      take_waiting(batch, std::min(waiting(), room));
    } else {
      const std::uint32_t store = work.pipeline - prompts();
      take_stored(batch, std::min(static_cast<std::uint32_t>(stores_.ready(store).size()), room));
    }
  }
  if (batch.members.empty()) {
    close(work.slot);
  } else {
    go(work.slot, now);
  }
  if (all || shape_.ending == Ending::refill) feed(now);
}

void PipelineServer::delivered(const Work& work, Picos now) {
  const std::uint32_t store = work.target - prompts();
  for (const Member& member : batches_[work.slot].members) {
    if (member.left > 0) {
      stores_.arrive(store, member.request);
    } else {
      stores_.forget(store, requests_[member.request].prompt_tokens);
    }
  }
  close(work.slot);
  feed(now);
}

PipelineOutcome PipelineServer::outcome() && {
  out_.passes = stages_.passes();
  out_.activation_bytes = stages_.activation_bytes();
  out_.streamed_bytes = stages_.streamed_bytes();
  out_.swapped_bytes = stages_.swapped_bytes();
  out_.machines = std::move(stages_.machines());
  for (MachineUse& machine : out_.machines) {
    if (machine.prompts) continue;
    const std::uint64_t layers = stages_of(shape_.layers, shape_.token.depth)[machine.stage].count;
    const std::uint64_t all = peak_[machine.pipeline];
    const std::uint64_t on_device =
        shape_.swaps ? kv_stream::swap_buffers(shape_.token.depth) * largest_[machine.pipeline]
                     : all;
    machine.peak_bytes = shape_.reserved_bytes +
                         layers * (shape_.layer_weight_bytes + on_device * shape_.layer_kv_bytes);
    const std::uint64_t waiting =
        shape_.apart() ? stores_.peak_tokens(machine.pipeline - prompts()) : 0;
    machine.peak_host_bytes = layers * (waiting + (shape_.swaps ? all : 0)) * shape_.layer_kv_bytes;
  }
  out_.spans = std::move(stages_.spans());
  return std::move(out_);
}

}  // namespace aqua::sim
