// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/scheduler_base.hpp"

#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"

// Invariants:
// - A batch is committed at most once, and only while `planned_`. A sequence takes part in a commit
//   only if its `plan` is the number of the plan that made the batch: one that has finished or lost
//   its KV since does not.
// - The policy is told of every change of state: before one that takes a sequence from where it was
//   (on_leave(), on_paging_in()), after one that puts it somewhere (on_outside(), on_resident(),
//   on_computed()).
namespace aqua::schedule {
namespace {

std::uint64_t number(SequenceId id) {
  return static_cast<std::uint64_t>(id);
}

Error wrong_state(const char* call, SequenceId id, SequenceState state) {
  return Error{Code::failed_precondition,
               concat(call, ": sequence ", number(id), " is ", to_string(state))};
}

}  // namespace

Scheduler::~Scheduler() = default;

Result<Slot> SchedulerBase::slot_of(SequenceId id, const char* call) const {
  const Slot slot = table_.find(id);
  if (slot == no_slot) {
    return Error{Code::not_found, concat(call, ": no sequence ", number(id))};
  }
  return slot;
}

Result<void> SchedulerBase::arrive(const Request& request) {
  const auto wrong = [&](const auto&... what) {
    return Error{Code::invalid_argument,
                 concat("arrive: sequence ", number(request.id), ": ", what...)};
  };
  if (request.prompt_tokens == 0) return wrong("prompt_tokens is 0");
  if (request.cached_tokens >= request.prompt_tokens) {
    return wrong("cached_tokens ", request.cached_tokens, " of ", request.prompt_tokens,
                 " leave nothing to compute");
  }
  if (!(request.weight >= kLeastWeight && request.weight <= kGreatestWeight)) {
    return wrong("weight is ", request.weight, ", not from ", kLeastWeight, " to ",
                 kGreatestWeight);
  }
  const std::uint64_t tokens = std::uint64_t{request.prompt_tokens} + request.max_new_tokens;
  if (tokens > UINT32_MAX) return wrong("more than 2^32 tokens");
  if (table_.find(request.id) != no_slot) {
    return Error{Code::already_exists,
                 concat("arrive: sequence ", number(request.id), " is known already")};
  }
  // Leaves out the last generated token, whose KV nothing reads.
  const std::uint64_t kept = tokens - (request.max_new_tokens > 0 ? 1 : 0);
  if (table_.blocks_for(kept) > options_.device_blocks) {
    return Error{Code::resource_exhausted,
                 concat("arrive: sequence ", number(request.id), " needs ", table_.blocks_for(kept),
                        " blocks, the device has ", options_.device_blocks)};
  }
  on_outside(table_.add(request));
  stale();
  return {};
}

Result<void> SchedulerBase::finish(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "finish"));
  on_leave(slot);
  on_finished(slot);
  table_.remove(slot);
  stale();
  return {};
}

Result<void> SchedulerBase::paged_out(SequenceId id, Tier to) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "paged_out"));
  if (table_.at(slot).state != SequenceState::paging_out) {
    return wrong_state("paged_out", id, table_.at(slot).state);
  }
  table_.end_out(slot, to);
  if (!table_.at(slot).stuck) on_outside(slot);
  stale();
  return {};
}

Result<void> SchedulerBase::paged_in(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "paged_in"));
  if (table_.at(slot).state != SequenceState::paging_in) {
    return wrong_state("paged_in", id, table_.at(slot).state);
  }
  table_.end_in(slot);
  on_resident(slot);
  stale();
  return {};
}

Result<void> SchedulerBase::copy_failed(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "copy_failed"));
  switch (table_.at(slot).state) {
    case SequenceState::paging_out:
      table_.abort_out(slot);
      if (!table_.at(slot).stuck) on_resident(slot);
      break;
    case SequenceState::paging_in:
      on_leave(slot);
      table_.abort_in(slot);
      on_outside_again(slot);
      break;
    default:
      return wrong_state("copy_failed", id, table_.at(slot).state);
  }
  stale();
  return {};
}

Result<void> SchedulerBase::moved(SequenceId id, Tier to) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "moved"));
  if (table_.at(slot).state != SequenceState::swapped) {
    return wrong_state("moved", id, table_.at(slot).state);
  }
  table_.move_swapped(slot, to);
  stale();
  return {};
}

Result<void> SchedulerBase::lost(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "lost"));
  on_leave(slot);
  table_.at(slot).plan = 0;  // takes it out of a batch that computes it
  table_.forget_kv(slot);
  if (!table_.at(slot).stuck) on_outside(slot);
  stale();
  return {};
}

void SchedulerBase::set_device_blocks(std::uint32_t blocks) {
  const bool grown = blocks > options_.device_blocks;
  options_.device_blocks = blocks;
  planned_ = false;  // the batch may count on blocks that are gone
  stale();
  on_capacity();
  if (!grown) return;
  const SequenceTable::ByArrival stuck = table_.stuck();
  for (const auto& [arrival, slot] : stuck) {
    if (table_.blocks_for(table_.at(slot).known()) > blocks) continue;
    table_.set_stuck(slot, false);
    const SequenceState state = table_.at(slot).state;
    if (state == SequenceState::resident) on_resident(slot);
    if (state == SequenceState::waiting || state == SequenceState::swapped) on_outside(slot);
  }
}

void SchedulerBase::set_swap_blocks(std::uint32_t blocks) {
  options_.swap_blocks = blocks;
  stale();
}

void SchedulerBase::set_swap_tier(Tier tier) {
  options_.swap_tier = tier;
  stale();
}

Result<void> SchedulerBase::set_time(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) {
    return Error{Code::invalid_argument, concat("set_time: ", seconds, " seconds")};
  }
  if (time_ && seconds < *time_) {
    return Error{Code::invalid_argument,
                 concat("set_time: ", seconds, " seconds is before the last, ", *time_)};
  }
  if (heeds_time() && seconds != time_) stale();
  time_ = seconds;
  return {};
}

Result<void> SchedulerBase::set_seconds_per_block(Tier tier, double seconds) {
  if (tier == Tier::local || !std::isfinite(seconds) || seconds <= 0) {
    return Error{Code::invalid_argument,
                 concat("set_seconds_per_block: ", seconds, " seconds, ", to_string(tier))};
  }
  (tier == Tier::peer ? options_.peer_seconds_per_block : options_.host_seconds_per_block) =
      seconds;
  on_costs(tier);
  return {};
}

const Batch& SchedulerBase::next() {
  if (planned_ && !stale_) {
    batch_.preemptions.clear();
    batch_.page_ins.clear();
    return batch_;
  }
  batch_.preemptions.clear();
  batch_.page_ins.clear();
  batch_.prefills.clear();
  batch_.decodes.clear();
  batch_.too_large.clear();
  batch_.repeat = 1;
  decode_slots_.clear();
  prefill_slots_.clear();
  plans_ += 1;
  evict_stuck();
  plan();
  // Makes a batch with orders hold for one iteration: the next plan starts from other blocks.
  if (batch_.moves()) batch_.repeat = 1;
  for (const auto& [arrival, slot] : table_.stuck()) batch_.too_large.push_back(table_.at(slot).id);
  planned_ = true;
  // What was dropped to be computed again is let in by the next plan, and no event comes before it.
  stale_ = batch_.moves() && !batch_.computes() && !table_.copies_under_way();
  return batch_;
}

Result<void> SchedulerBase::commit(std::uint32_t iterations) {
  if (!planned_) {
    return Error{Code::failed_precondition,
                 "commit: no batch since the last commit or change of "
                 "the device's blocks: call next()"};
  }
  if (iterations == 0 || iterations > batch_.repeat) {
    return Error{
        Code::invalid_argument,
        concat("commit: ", iterations, " iterations; the batch holds for 1 to ", batch_.repeat)};
  }
  planned_ = false;
  for (std::size_t i = 0; i < prefill_slots_.size(); ++i) {
    const PrefillChunk& chunk = batch_.prefills[i];
    if (table_.at(prefill_slots_[i]).id != chunk.id) continue;
    commit_one(prefill_slots_[i], chunk.tokens, chunk.last ? 1 : 0, iterations);
  }
  for (std::size_t i = 0; i < decode_slots_.size(); ++i) {
    if (table_.at(decode_slots_[i]).id != batch_.decodes[i]) continue;
    commit_one(decode_slots_[i], iterations, iterations, iterations);
  }
  on_committed(iterations);
  return {};
}

void SchedulerBase::commit_one(Slot slot, std::uint32_t tokens, std::uint32_t generated,
                               std::uint32_t times) {
  // Skips a sequence that is not of this plan: it has finished or lost its KV since, or is a new
  // one of the same number.
  if (table_.at(slot).plan != plans_) return;
  table_.compute(slot, tokens, generated);
  on_computed(slot, tokens, generated, times);
}

void SchedulerBase::add_decode(Slot slot) {
  Sequence& s = table_.at(slot);
  s.plan = plans_;
  batch_.decodes.push_back(s.id);
  decode_slots_.push_back(slot);
}

void SchedulerBase::add_prefill(Slot slot, std::uint32_t tokens) {
  Sequence& s = table_.at(slot);
  s.plan = plans_;
  batch_.prefills.push_back({s.id, s.computed, tokens, tokens == s.pending()});
  prefill_slots_.push_back(slot);
}

Preemption::How SchedulerBase::how_wanted(Slot slot) const noexcept {
  using How = Preemption::How;
  if (options_.preempt_by == PreemptBy::recompute) return How::recompute;
  if (options_.preempt_by == PreemptBy::swap) return How::swap;
  const Sequence& s = table_.at(slot);
  const double swap = 2.0 * s.device_blocks * options_.swap_seconds_per_block;
  const double recompute = s.computed * options_.recompute_seconds_per_token;
  return recompute < swap ? How::recompute : How::swap;
}

Preemption::How SchedulerBase::how_out(Slot slot) const noexcept {
  const std::uint64_t held = std::uint64_t{table_.swap_held()} + table_.at(slot).device_blocks;
  return held > options_.swap_blocks ? Preemption::How::recompute : how_wanted(slot);
}

void SchedulerBase::order_out(Slot slot, Preemption::How how) {
  const Sequence& s = table_.at(slot);
  const Tier to = how == Preemption::How::swap ? tier_out() : Tier::local;
  batch_.preemptions.push_back({s.id, how, s.device_blocks, to});
  on_leave(slot);
  if (how == Preemption::How::swap) {
    table_.begin_out(slot);
  } else {
    table_.forget_kv(slot);
    if (!table_.at(slot).stuck) on_outside(slot);
  }
}

void SchedulerBase::order_in(Slot slot) {
  on_paging_in(slot);
  table_.begin_in(slot);
  const Sequence& s = table_.at(slot);
  batch_.page_ins.push_back({s.id, s.tier, s.device_blocks});
}

bool SchedulerBase::set_aside_if_stuck(Slot slot) {
  if (table_.blocks_for(table_.at(slot).known()) <= options_.device_blocks) return false;
  on_leave(slot);
  table_.set_stuck(slot, true);
  return true;
}

// Preempts set-aside residents while a shrunken device holds more than it has: no policy looks at
// them.
void SchedulerBase::evict_stuck() {
  if (free_blocks() + table_.leaving() >= 0) return;
  const SequenceTable::ByArrival stuck = table_.stuck();
  for (const auto& [arrival, slot] : stuck) {
    if (free_blocks() + table_.leaving() >= 0) return;
    if (table_.at(slot).state == SequenceState::resident) order_out(slot, how_out(slot));
  }
}

Result<SequenceStatus> SchedulerBase::sequence(SequenceId id) const {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "sequence"));
  const Sequence& s = table_.at(slot);
  const bool swapped = s.state == SequenceState::swapped;
  return SequenceStatus{s.state,       swapped ? s.tier : Tier::local,
                        s.prompt,      s.computed,
                        s.generated,   s.device_blocks,
                        s.swap_blocks, service_of(slot)};
}

SchedulerStatus SchedulerBase::status() const noexcept {
  SchedulerStatus status;
  status.waiting = table_.count(SequenceState::waiting);
  status.resident = table_.count(SequenceState::resident);
  status.paging_out = table_.count(SequenceState::paging_out);
  status.swapped = table_.count(SequenceState::swapped);
  status.paging_in = table_.count(SequenceState::paging_in);
  status.device_blocks = options_.device_blocks;
  status.device_blocks_held = table_.device_held();
  status.swap_blocks = options_.swap_blocks;
  status.swap_blocks_held = table_.swap_held();
  status.falling_back = falling_back();
  describe(status);
  return status;
}

}  // namespace aqua::schedule
