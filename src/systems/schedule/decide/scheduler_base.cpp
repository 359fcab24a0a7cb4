// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/scheduler_base.hpp"

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
  begin_holds();
  evict_stuck();
  plan();
  // Makes a batch with orders hold for one iteration: the next plan starts from other blocks.
  if (batch_.moves()) batch_.repeat = 1;
  if (full_for_ > 0) batch_.repeat = std::min(batch_.repeat, full_for_);
  for (const auto& [arrival, slot] : table_.aside()) {
    if (table_.at(slot).stuck) batch_.too_large.push_back(table_.at(slot).id);
  }
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
  full_for_ -= std::min(full_for_, iterations);
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
  begin_holds();
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
  return held > swap_limit() ? Preemption::How::recompute : how_wanted(slot);
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

// Preempts residents that are stuck while a shrunken device holds more than it has: no policy looks
// at them. Those that are held stay.
void SchedulerBase::evict_stuck() {
  if (free_blocks() + table_.leaving() >= 0) return;
  const SequenceTable::ByArrival aside = table_.aside();
  for (const auto& [arrival, slot] : aside) {
    if (free_blocks() + table_.leaving() >= 0) return;
    const Sequence& s = table_.at(slot);
    if (!s.held && s.state == SequenceState::resident) order_out(slot, how_out(slot));
  }
}

Result<SequenceStatus> SchedulerBase::sequence(SequenceId id) const {
  AQUA_ASSIGN(const Slot slot, slot_of(id, "sequence"));
  const Sequence& s = table_.at(slot);
  const bool swapped = s.state == SequenceState::swapped;
  return SequenceStatus{s.state,       swapped ? s.tier : Tier::local,
                        s.prompt,      s.computed,
                        s.generated,   s.device_blocks,
                        s.swap_blocks, service_of(slot),
                        lead_of(slot), s.held};
}

SchedulerStatus SchedulerBase::status() const noexcept {
  SchedulerStatus status;
  status.waiting = table_.count(SequenceState::waiting);
  status.resident = table_.count(SequenceState::resident);
  status.paging_out = table_.count(SequenceState::paging_out);
  status.swapped = table_.count(SequenceState::swapped);
  status.paging_in = table_.count(SequenceState::paging_in);
  status.held = table_.held();
  status.device_blocks = options_.device_blocks;
  status.device_blocks_held = table_.device_held();
  status.swap_blocks = options_.swap_blocks;
  status.swap_blocks_held = table_.swap_held();
  status.falling_back = falling_back();
  describe(status);
  return status;
}

}  // namespace aqua::schedule
