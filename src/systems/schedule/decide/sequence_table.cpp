// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/sequence_table.hpp"

#include <algorithm>
#include <cassert>

// Invariant: each sequence is in at most one queue (residents_, outside_, aside_), the one that its
// state and aside() name, and device_held_, swap_held_, leaving_ and the counts are sums over all
// sequences. A change of state, tier or blocks happens between unlist() and list(); compute() alone
// adjusts device_held_ itself, since it is called for every sequence of every iteration.
namespace aqua::schedule {

Slot SequenceTable::find(SequenceId id) const noexcept {
  const auto found = by_id_.find(static_cast<std::uint64_t>(id));
  return found == by_id_.end() ? no_slot : found->second;
}

Slot SequenceTable::add(const Request& request) {
  Slot slot = static_cast<Slot>(sequences_.size());
  if (free_.empty()) {
    sequences_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Sequence& sequence = sequences_[slot];
  sequence = {};
  sequence.id = request.id;
  sequence.tenant = request.tenant;
  sequence.weight = request.weight;
  sequence.lead = request.lead;
  sequence.prompt = request.prompt_tokens;
  sequence.max_new = request.max_new_tokens;
  sequence.generated = request.generated_tokens;
  sequence.arrival = ++arrivals_;
  // The last token is computed again where it is cached as well.
  const std::uint32_t cached = std::min(request.cached_tokens, sequence.known() - 1);
  if (cached > 0) {
    // Counts no swap blocks: the copy belongs to the cache.
    sequence.computed = cached;
    sequence.state = SequenceState::swapped;
    sequence.tier = request.cached_in;
  }
  by_id_.emplace(static_cast<std::uint64_t>(request.id), slot);
  list(slot);
  return slot;
}

void SequenceTable::remove(Slot slot) {
  unlist(slot);
  by_id_.erase(static_cast<std::uint64_t>(sequences_[slot].id));
  sequences_[slot] = {};
  free_.push_back(slot);
}

SequenceTable::ByArrival* SequenceTable::queue_of(const Sequence& sequence) noexcept {
  if (sequence.aside()) return &aside_;
  if (sequence.state == SequenceState::resident) return &residents_;
  if (sequence.state == SequenceState::waiting || sequence.state == SequenceState::swapped) {
    return &outside_;
  }
  return nullptr;
}

void SequenceTable::unlist(Slot slot) {
  const Sequence& s = sequences_[slot];
  if (ByArrival* queue = queue_of(s)) queue->erase({s.arrival, slot});
  counts_[static_cast<std::size_t>(s.state)] -= 1;
  if (s.held) held_ -= 1;
  device_held_ -= s.device_blocks;
  swap_held_ -= s.swap_blocks;
  if (s.state == SequenceState::paging_out) leaving_ -= s.device_blocks;
  if (s.state == SequenceState::swapped) swapped_on_[static_cast<std::size_t>(s.tier)] -= 1;
}

void SequenceTable::list(Slot slot) {
  const Sequence& s = sequences_[slot];
  if (ByArrival* queue = queue_of(s)) queue->emplace(s.arrival, slot);
  counts_[static_cast<std::size_t>(s.state)] += 1;
  if (s.held) held_ += 1;
  device_held_ += s.device_blocks;
  swap_held_ += s.swap_blocks;
  if (s.state == SequenceState::paging_out) leaving_ += s.device_blocks;
  if (s.state == SequenceState::swapped) swapped_on_[static_cast<std::size_t>(s.tier)] += 1;
}

void SequenceTable::begin_out(Slot slot) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::resident);
  unlist(slot);
  s.state = SequenceState::paging_out;
  s.swap_blocks = s.device_blocks;
  list(slot);
}

void SequenceTable::end_out(Slot slot, Tier to) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::paging_out);
  unlist(slot);
  s.state = SequenceState::swapped;
  s.tier = to;
  s.device_blocks = 0;
  list(slot);
}

void SequenceTable::abort_out(Slot slot) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::paging_out);
  unlist(slot);
  s.state = SequenceState::resident;
  s.swap_blocks = 0;
  list(slot);
}

void SequenceTable::begin_in(Slot slot) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::swapped);
  unlist(slot);
  s.state = SequenceState::paging_in;
  s.device_blocks = blocks_for(s.computed);
  list(slot);
}

void SequenceTable::end_in(Slot slot) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::paging_in);
  unlist(slot);
  s.state = SequenceState::resident;
  s.tier = Tier::local;
  s.swap_blocks = 0;
  list(slot);
}

void SequenceTable::abort_in(Slot slot) {
  Sequence& s = sequences_[slot];
  assert(s.state == SequenceState::paging_in);
  unlist(slot);
  s.state = SequenceState::swapped;
  s.device_blocks = 0;
  list(slot);
}

void SequenceTable::move_swapped(Slot slot, Tier to) {
  unlist(slot);
  sequences_[slot].tier = to;
  list(slot);
}

void SequenceTable::forget_kv(Slot slot) {
  Sequence& s = sequences_[slot];
  unlist(slot);
  s.state = SequenceState::waiting;
  s.held = s.to_hold = false;
  s.tier = Tier::local;
  s.computed = 0;
  s.device_blocks = 0;
  s.swap_blocks = 0;
  list(slot);
}

void SequenceTable::set_stuck(Slot slot, bool stuck) {
  unlist(slot);
  sequences_[slot].stuck = stuck;
  list(slot);
}

void SequenceTable::set_held(Slot slot, bool held) {
  unlist(slot);
  sequences_[slot].held = held;
  sequences_[slot].to_hold = false;
  list(slot);
}

void SequenceTable::begin_resident(Slot slot) {
  begin_in(slot);
  end_in(slot);
}

void SequenceTable::compute(Slot slot, std::uint32_t tokens, std::uint32_t generated) {
  Sequence& s = sequences_[slot];
  if (s.state != SequenceState::resident) {
    assert(s.state == SequenceState::waiting);
    unlist(slot);
    s.state = SequenceState::resident;
    list(slot);
  }
  s.computed += tokens;
  s.generated += generated;
  const std::uint32_t blocks = blocks_for(s.computed);
  device_held_ += blocks - s.device_blocks;
  s.device_blocks = blocks;
}

}  // namespace aqua::schedule
