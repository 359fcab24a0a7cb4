// SPDX-License-Identifier: Apache-2.0
// How microbatches are formed and sent through the stages.
#include <algorithm>

#include "tools/sim/pipeline/server.hpp"

namespace aqua::sim {

std::uint32_t PipelineServer::open(std::uint32_t pipeline, std::uint32_t target) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(batches_.size()));
    batches_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const bool lent = shape_.swaps && lent_[pipeline] < shape_.swaps->places.lent;
  lent_[pipeline] += lent ? 1U : 0U;
  batches_[slot] = {.pipeline = pipeline, .target = target, .number = numbers_++, .lent = lent};
  ++under_way_[pipeline];
  return slot;
}

void PipelineServer::close(std::uint32_t slot) {
  --under_way_[batches_[slot].pipeline];
  lent_[batches_[slot].pipeline] -= batches_[slot].lent ? 1U : 0U;
  batches_[slot].members.clear();
  free_slots_.push_back(slot);
}

void PipelineServer::take_waiting(Microbatch& batch, std::uint32_t count) {
  for (; count > 0; --count, ++taken_) {
    const TraceRequest& request = requests_[taken_];
    batch.members.push_back({.request = static_cast<std::uint32_t>(taken_),
                             .prompt_left = request.prompt_tokens,
                             .left = request.output_tokens});
  }
}

void PipelineServer::take_stored(Microbatch& batch, std::uint32_t count) {
  const std::uint32_t store = batch.pipeline - prompts();
  for (; count > 0; --count) {
    const std::uint32_t next = stores_.ready(store).front();
    const TraceRequest& request = requests_[next];
    (void)stores_.pop(store, request.prompt_tokens);
    batch.members.push_back(
        {.request = next, .left = request.output_tokens - 1, .held = request.prompt_tokens});
  }
}

// Sends it through the stages once more. Memory is for a request's whole answer.
void PipelineServer::go(std::uint32_t slot, Picos now) {
  Microbatch& batch = batches_[slot];
  if (batch.pipeline >= prompts()) {
    for (Member& member : batch.members) {
      if (member.reserved > 0) continue;
      const TraceRequest& request = requests_[member.request];
      member.reserved = std::uint64_t{request.prompt_tokens} + request.output_tokens - 1;
      reserved_[batch.pipeline] += member.reserved;
      batch.known = now;
    }
    std::uint64_t tokens = 0;
    for (const Member& member : batch.members) tokens += member.reserved;
    largest_[batch.pipeline] = std::max(largest_[batch.pipeline], tokens);
    peak_[batch.pipeline] = std::max(peak_[batch.pipeline], reserved_[batch.pipeline]);
  }
  const Pass pass = batch.next_pass(cost_, shape_.chunk_tokens);
  stages_.begin({.pipeline = batch.pipeline,
                 .slot = slot,
                 .microbatch = batch.number,
                 .target = batch.target,
                 .lent = batch.lent,
                 .known = batch.known,
                 .pass = pass},
                now);
}

void PipelineServer::feed(Picos now) {
  if (!shape_.apart()) {
    // One microbatch each in turn, so that what waits is spread.
    for (bool more = true; more;) {
      const std::size_t before = taken_;
      for (std::uint32_t i = 0; i < pipelines(); ++i) feed_colocated(i, now);
      more = taken_ != before;
    }
    return;
  }
  // What a token pipeline takes makes room for prompts, and these may be the last.
  for (std::uint64_t before = numbers_ + 1; before != numbers_;) {
    before = numbers_;
    for (std::uint32_t i = 0; i < prompts(); ++i) feed_prompts(i, now);
    for (std::uint32_t i = prompts(); i < pipelines(); ++i) feed_tokens(i, now);
  }
}

void PipelineServer::feed_colocated(std::uint32_t pipeline, Picos now) {
  if (waiting() == 0 || under_way_[pipeline] == shape_.token.depth || down(pipeline)) return;
  const std::uint32_t slot = open(pipeline, 0);
  take_waiting(batches_[slot], std::min(waiting(), shape_.token.microbatch));
  go(slot, now);
}

void PipelineServer::feed_prompts(std::uint32_t pipeline, Picos now) {
  while (waiting() > 0 && stages_.idle(pipeline)) {
    const std::uint32_t count = std::min(waiting(), shape_.prompt.microbatch);
    const auto target = stores_.take(prompt_tokens_of(count), count);
    if (!target) {
      if (blocked_since_ == kNever) blocked_since_ = now;
      return;
    }
    if (blocked_since_ != kNever) out_.store_full += now - blocked_since_;
    blocked_since_ = kNever;
    const std::uint32_t slot = open(pipeline, prompts() + *target);
    take_waiting(batches_[slot], count);
    go(slot, now);
  }
}

bool PipelineServer::may_be_partial(std::uint32_t pipeline) const {
  if (shape_.ending == Ending::refill) return true;
  if (shape_.open && under_way_[pipeline] == 0) return true;
  const std::uint32_t store = pipeline - prompts();
  if (stores_.coming(store) > 0) return false;
  const std::uint32_t next = std::min(waiting(), shape_.prompt.microbatch);
  return next == 0 ? came_ == requests_.size() || shape_.open
                   : !stores_.has_room(store, prompt_tokens_of(next));
}

void PipelineServer::feed_tokens(std::uint32_t pipeline, Picos now) {
  const std::uint32_t store = pipeline - prompts();
  while (under_way_[pipeline] < shape_.token.depth) {
    const auto ready = static_cast<std::uint32_t>(stores_.ready(store).size());
    if (ready == 0 || (ready < shape_.token.microbatch && !may_be_partial(pipeline))) return;
    const std::uint32_t slot = open(pipeline, 0);
    take_stored(batches_[slot], std::min(ready, shape_.token.microbatch));
    go(slot, now);
  }
}

}  // namespace aqua::sim
