// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/serving.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/pipeline/microbatch.hpp"
#include "tools/sim/pipeline/prompt_stores.hpp"
#include "tools/sim/pipeline/stages.hpp"

namespace aqua::sim {
namespace {

class PipelineServer final : public Actor, private StagesUser {
 public:
  PipelineServer(const PipelineShape& shape, const PassCost& cost, Network& network,
                 const std::vector<TraceRequest>& requests)
      : shape_(shape),
        cost_(cost),
        requests_(requests),
        stages_(shape, cost, network, *this),
        stores_(shape),
        under_way_(shape.prompt.pipelines + shape.token.pipelines),
        reserved_(under_way_.size()),
        peak_(under_way_.size()) {
    for (const TraceRequest& request : requests) {
      out_.requests.push_back({.arrival = request.arrival,
                               .prompt_tokens = request.prompt_tokens,
                               .output_tokens = request.output_tokens});
    }
  }
  [[nodiscard]] Stages& stages() noexcept { return stages_; }
  [[nodiscard]] PipelineOutcome outcome() &&;

  // As an actor it is the arrival of requests.
  [[nodiscard]] Picos next() const override {
    return came_ == requests_.size() ? kNever : requests_[came_].arrival;
  }
  void act(Picos now, Picos /*horizon*/) override {
    while (came_ < requests_.size() && requests_[came_].arrival <= now) ++came_;
    feed(now);
  }
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return ended_ == requests_.size(); }

 private:
  [[nodiscard]] std::uint32_t prompts() const noexcept { return shape_.prompt.pipelines; }
  [[nodiscard]] std::uint32_t pipelines() const noexcept {
    return prompts() + shape_.token.pipelines;
  }
  [[nodiscard]] std::uint32_t waiting() const noexcept {
    return static_cast<std::uint32_t>(came_ - taken_);
  }
  // Of the next `count` that wait.
  [[nodiscard]] std::uint64_t prompt_tokens_of(std::uint32_t count) const {
    std::uint64_t tokens = 0;
    for (std::uint32_t i = 0; i < count; ++i) tokens += requests_[taken_ + i].prompt_tokens;
    return tokens;
  }

  void feed(Picos now);
  void feed_prompts(std::uint32_t pipeline, Picos now);
  void feed_colocated(std::uint32_t pipeline, Picos now);
  void feed_tokens(std::uint32_t pipeline, Picos now);
  [[nodiscard]] bool may_be_partial(std::uint32_t pipeline) const;
  std::uint32_t open(std::uint32_t pipeline, std::uint32_t target);
  void close(std::uint32_t slot);
  void take_waiting(Microbatch& batch, std::uint32_t count);
  void take_stored(Microbatch& batch, std::uint32_t count);
  void go(std::uint32_t slot, Picos now);
  void leave_memory(Microbatch& batch, bool all);

  void passed(const Work& work, Picos now) override;
  void delivered(const Work& work, Picos now) override;
  void idle(std::uint32_t /*pipeline*/, Picos now) override { feed(now); }

  const PipelineShape shape_;
  const PassCost& cost_;
  const std::vector<TraceRequest>& requests_;
  Stages stages_;
  PromptStores stores_;
  std::vector<Microbatch> batches_{};  // by slot
  std::vector<std::uint32_t> free_slots_{};
  std::vector<std::uint32_t> under_way_;        // microbatches, by pipeline
  std::vector<std::uint64_t> reserved_, peak_;  // tokens of KV in a layer, by pipeline
  std::size_t came_ = 0, taken_ = 0, ended_ = 0;
  std::uint64_t numbers_ = 0;
  Picos blocked_since_ = kNever;
  PipelineOutcome out_{};
};

std::uint32_t PipelineServer::open(std::uint32_t pipeline, std::uint32_t target) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(batches_.size()));
    batches_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  batches_[slot] = {.pipeline = pipeline, .target = target, .number = numbers_++, .members = {}};
  ++under_way_[pipeline];
  return slot;
}

void PipelineServer::close(std::uint32_t slot) {
  --under_way_[batches_[slot].pipeline];
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
    }
    peak_[batch.pipeline] = std::max(peak_[batch.pipeline], reserved_[batch.pipeline]);
  }
  const Pass pass = batch.next_pass(cost_, shape_.chunk_tokens);
  stages_.begin({.pipeline = batch.pipeline,
                 .slot = slot,
                 .microbatch = batch.number,
                 .target = batch.target,
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
  if (waiting() == 0 || under_way_[pipeline] == shape_.token.depth) return;
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
    out_.makespan = std::max(out_.makespan, now - out_.requests.front().arrival);
  });
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
  out_.machines = std::move(stages_.machines());
  for (MachineUse& machine : out_.machines) {
    if (machine.prompts) continue;
    const std::uint64_t layers = stages_of(shape_.layers, shape_.token.depth)[machine.stage].count;
    machine.peak_bytes =
        shape_.reserved_bytes +
        layers * (shape_.layer_weight_bytes + peak_[machine.pipeline] * shape_.layer_kv_bytes);
    if (!shape_.apart()) continue;
    machine.peak_host_bytes =
        layers * stores_.peak_tokens(machine.pipeline - prompts()) * shape_.layer_kv_bytes;
  }
  out_.spans = std::move(stages_.spans());
  return std::move(out_);
}

}  // namespace

Result<PipelineOutcome> serve(const PipelineShape& shape, const PassCost& cost,
                              const std::vector<TraceRequest>& requests) {
  AQUA_TRY(check(shape, requests));
  Network network;
  PipelineServer server(shape, cost, network, requests);
  if (!run_world(network, {&server, &server.stages()})) {
    return Error{Code::resource_exhausted,
                 concat("pipelines: host_bytes of ", shape.host_bytes,
                        " never hold the prompts of a microbatch of ", shape.prompt.microbatch,
                        ": a smaller one, or more memory")};
  }
  PipelineOutcome outcome = std::move(server).outcome();
  for (std::size_t i = 0; shape.machine_bytes > 0 && i < outcome.machines.size(); ++i) {
    const MachineUse& machine = outcome.machines[i];
    if (machine.peak_bytes <= shape.machine_bytes) continue;
    return Error{Code::resource_exhausted,
                 concat("pipelines: stage ", machine.stage, " of pipeline ", machine.pipeline,
                        " needs ", machine.peak_bytes, " bytes and has ", shape.machine_bytes)};
  }
  return outcome;
}

}  // namespace aqua::sim
