// SPDX-License-Identifier: Apache-2.0
// SchedulerBase: what happens to sequences, capacities and costs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/schedule/decide/scheduler_base.hpp"

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

// Whether a request says what can be.
Result<void> SchedulerBase::check(const Request& request) const {
  const auto wrong = [&](const auto&... what) {
    return Error{Code::invalid_argument,
                 concat("arrive: sequence ", number(request.id), ": ", what...)};
  };
  if (request.prompt_tokens == 0) return wrong("prompt_tokens is 0");
  const std::uint64_t known = std::uint64_t{request.prompt_tokens} + request.generated_tokens;
  if (request.max_new_tokens > 0 && request.generated_tokens > request.max_new_tokens) {
    return wrong("max_new_tokens is ", request.max_new_tokens, ", and ", request.generated_tokens,
                 " were generated: raise it, or give 0");
  }
  if (request.cached_tokens > known) {
    return wrong("cached_tokens ", request.cached_tokens, " of ", known);
  }
  if (!(request.weight >= kLeastWeight && request.weight <= kGreatestWeight)) {
    return wrong("weight is ", request.weight, ", not from ", kLeastWeight, " to ",
                 kGreatestWeight);
  }
  if (!(request.lead >= -kGreatestLead && request.lead <= kGreatestLead)) {
    return wrong("lead is ", request.lead, ", not from ", -kGreatestLead, " to ", kGreatestLead);
  }
  const std::uint64_t most = std::uint64_t{request.prompt_tokens} + request.max_new_tokens;
  if (std::max(most, known) > UINT32_MAX) return wrong("more than 2^32 tokens");
  if (table_.find(request.id) != no_slot) {
    return Error{Code::already_exists,
                 concat("arrive: sequence ", number(request.id), " is known already")};
  }
  // Leaves out the last generated token, whose KV nothing reads.
  const std::uint64_t kept = std::max(most - (request.max_new_tokens > 0 ? 1 : 0), known);
  if (table_.blocks_for(kept) > options_.device_blocks) {
    return Error{Code::resource_exhausted,
                 concat("arrive: sequence ", number(request.id), " needs ", table_.blocks_for(kept),
                        " blocks, the device has ", options_.device_blocks)};
  }
  return {};
}

Result<void> SchedulerBase::arrive(const Request& request) {
  AQUA_TRY(check(request));
  const bool brings = request.cached_in == Tier::local;
  const std::uint32_t known = request.prompt_tokens + request.generated_tokens;
  const std::uint32_t blocks = table_.blocks_for(std::min(request.cached_tokens, known - 1));
  if (brings && blocks > free_blocks()) {
    return Error{Code::resource_exhausted,
                 concat("arrive: sequence ", number(request.id), " brings KV in ", blocks,
                        " blocks of the device, which has ", free_blocks(), " free")};
  }
  const Slot slot = table_.add(request);
  on_outside(slot);
  if (brings && blocks > 0) {
    on_leave(slot);
    table_.begin_resident(slot);
    on_resident(slot);
    planned_ = false;  // the batch may count on the blocks that it has
    on_capacity();     // and so may what was promised to others
  }
  stale();
  return {};
}

Result<void> SchedulerBase::finish(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "finish"));
  on_answered(slot);
  remove(slot);
  return {};
}

Result<void> SchedulerBase::depart(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "depart"));
  remove(slot);
  return {};
}

void SchedulerBase::remove(Slot slot) {
  on_leave(slot);
  on_finished(slot);
  table_.remove(slot);
  stale();
}

Result<void> SchedulerBase::hold(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "hold"));
  Sequence& s = table_.at(slot);
  const bool computed = planned_ && s.plan == plans_;
  if (s.held || s.to_hold) {
    return Error{Code::already_exists, concat("hold: sequence ", number(id), " is held already")};
  }
  if (s.state != SequenceState::resident) return wrong_state("hold", id, s.state);
  if (computed) {
    s.to_hold = true;
    to_hold_.push_back(slot);
  } else {
    begin_hold(slot);
  }
  stale();
  return {};
}

void SchedulerBase::begin_hold(Slot slot) {
  on_leave(slot);
  table_.set_held(slot, true);
}

// Begins the holds that waited for the end of an iteration.
void SchedulerBase::begin_holds() {
  for (const Slot slot : std::exchange(to_hold_, {})) {
    if (table_.at(slot).to_hold) begin_hold(slot);
  }
}

Result<void> SchedulerBase::release(SequenceId id) {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "release"));
  Sequence& s = table_.at(slot);
  if (!s.held && !s.to_hold) {
    return Error{Code::failed_precondition,
                 concat("release: sequence ", number(id), " is not held")};
  }
  const bool began = s.held;
  table_.set_held(slot, false);
  if (began && !s.stuck) on_resident(slot);
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
      full_at_ = table_.swap_held();
      full_for_ = options_.slice_iterations;
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
  const SequenceTable::ByArrival aside = table_.aside();
  for (const auto& [arrival, slot] : aside) {
    if (!table_.at(slot).stuck || table_.blocks_for(table_.at(slot).known()) > blocks) continue;
    table_.set_stuck(slot, false);
    if (table_.at(slot).held) continue;
    const SequenceState state = table_.at(slot).state;
    if (state == SequenceState::resident) on_resident(slot);
    if (state == SequenceState::waiting || state == SequenceState::swapped) on_outside(slot);
  }
}

void SchedulerBase::set_swap_blocks(std::uint32_t blocks) {
  options_.swap_blocks = blocks;
  full_for_ = 0;
  stale();
}

void SchedulerBase::set_swap_tier(Tier tier) {
  if (tier != options_.swap_tier) full_for_ = 0;
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

}  // namespace aqua::schedule
