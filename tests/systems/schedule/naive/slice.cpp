// SPDX-License-Identifier: Apache-2.0
#include "tests/systems/schedule/naive/slice.hpp"

#include <tuple>

namespace aqua::schedule::test {

double NaiveSlice::rank(const NaiveSequence& s) const {
  if (cfs_) return s.service;
  return s.decodes() ? s.generated : s.computed;
}

bool NaiveSlice::falls_back() const {
  if (!options_.fcfs_on_slow_tier) return false;
  if (options_.swap_tier == options_.slow_tier) return true;
  return std::any_of(all_.begin(), all_.end(), [&](const auto& entry) {
    const NaiveSequence& s = entry.second;
    return s.state == SequenceState::swapped && s.tier == options_.slow_tier;
  });
}

// --- what happens ------------------------------------------------------------------------------

void NaiveSlice::arrived(NaiveSequence& s) {
  s.service = clock_ + std::max(0.0, s.request.lead);
  s.since = iterations_;
  over_ |= !cfs_ && blocks_for(s.computed + std::uint64_t{1}) <= free_blocks();
}

void NaiveSlice::became_outside(NaiveSequence&) {
  date_waits();
  open_ = true;
}

void NaiveSlice::left(NaiveSequence& s) {
  s.member = false;
  open_ = true;
}

void NaiveSlice::became_resident(NaiveSequence& /*s*/) {
  date_waits();
  open_ = true;
}

void NaiveSlice::entered(NaiveSequence& s) {
  if (!s.member) join(s, 0);  // by the fallback
}

void NaiveSlice::served(NaiveSequence& s, std::uint32_t tokens, std::uint32_t generated) {
  s.service += 1 / s.request.weight;
  s.since = iterations_ + 1;
  s.dated = false;
  if (tokens > generated && generated > 0) open_ = true;  // the end of a prompt
}

void NaiveSlice::committed() {
  iterations_ += 1;
  done_ += 1;
  ran_ = true;
  over_ |= done_ >= options_.slice_iterations;
}

// A wait gets its date when it begins, and not before the date of a wait that began earlier.
void NaiveSlice::date_waits() {
  const std::size_t places = std::max<std::size_t>({1, places_, options_.device_blocks / largest_});
  const std::uint64_t rounds = 2 * ((all_.size() + places - 1) / places);
  const std::uint64_t earlier = last_due_;
  for (auto& [arrival, s] : all_) {
    if (!waits(s) || s.dated) continue;
    s.due = std::max(earlier, s.since + rounds * options_.slice_iterations);
    last_due_ = std::max(last_due_, s.due);
    s.dated = true;
  }
}

// --- plans -------------------------------------------------------------------------------------

NaiveSlice::Line NaiveSlice::members() {
  Line line;
  for (const SequenceId id : order_) {
    for (auto& [arrival, s] : all_) {
      if (s.request.id == id && s.member) line.push_back(&s);
    }
  }
  return line;
}

void NaiveSlice::join(NaiveSequence& s, std::uint32_t promised) {
  std::erase(order_, s.request.id);
  order_.push_back(s.request.id);
  s.member = true;
  s.granted = false;
  s.promised = promised;
  largest_ = std::max(largest_, promised);
}

void NaiveSlice::plan() {
  if (falls_back()) {
    fallback_ = true;
    ran_ = false;
  }
  if (ran_) fallback_ = false;
  fallback_ ? plan_fallback() : plan_slice();
}

void NaiveSlice::plan_fallback() {
  over_ = true;
  plan_queue();
  for (auto& [arrival, s] : all_) {
    if (s.planned && !s.member) join(s, 0);
  }
}

void NaiveSlice::plan_slice() {
  if (over_ || members().empty()) {
    begin_slice();
  } else if (open_) {
    deal(true);
  }
  grant();
  fill();
  const auto travels = [](const NaiveSequence& s) {
    return s.state == SequenceState::paging_in || s.state == SequenceState::paging_out;
  };
  while (!batch_.computes() && select(travels).empty()) {
    if (done_ == 0) {  // even a fresh slice: the swap space is full of the wrong ones
      const auto residents = select([](const auto& s) { return s.resident(); });
      if (residents.empty()) return;
      order_out(*residents.back(), Preemption::How::recompute);
    }
    begin_slice();
    grant();
    fill();
  }
}

void NaiveSlice::begin_slice() {
  for (NaiveSequence* s : members()) {
    s->granted = false;
    if (s->state != SequenceState::paging_in) s->member = false;
  }
  date_waits();
  if (done_ > 0) slices_ += 1;
  done_ = 0;
  over_ = false;
  double least = clock_;
  bool any = false;
  for (const NaiveSequence* s : select(waits)) {
    least = any ? std::min(least, rank(*s)) : rank(*s);
    any = true;
  }
  if (cfs_) clock_ = std::max(clock_, least);
  for (NaiveSequence* s : members()) s->promised = wanted(*s, options_.budget_tokens);
  deal(false);
  if (!select(waits).empty() && !members().empty()) places_ = members().size();
  preempt_idle();
}

// Residents who are no members go, last in rank first, until the promises have room.
void NaiveSlice::preempt_idle() {
  std::int64_t excess = -std::int64_t{options_.device_blocks};
  for (const auto& [arrival, s] : all_) {
    if (s.member) {
      excess += s.promised;
    } else if (s.state == SequenceState::resident) {
      excess += s.device_blocks;
    }
  }
  Line idle = select([](const auto& s) { return s.resident() && !s.member; });
  std::sort(idle.begin(), idle.end(), [&](const auto* a, const auto* b) {
    return std::tuple(rank(*b), b->since, b->arrival) < std::tuple(rank(*a), a->since, a->arrival);
  });
  for (NaiveSequence* s : idle) {
    if (excess <= 0) return;
    const auto how = how_out(*s);
    const std::uint32_t held = s->device_blocks;
    const bool no_room_to_swap =
        how == Preemption::How::recompute && options_.preempt_by == PreemptBy::swap;
    if (no_room_to_swap && free_blocks() + coming_blocks() >= 0) {
      join(*s, std::max(wanted(*s, options_.budget_tokens), held));  // it runs on
      excess += s->promised - held;
    } else {
      order_out(*s, how);
      excess -= held;
    }
  }
}

// Promises are backed with free blocks in the order dealt, residents first.
void NaiveSlice::grant() {
  std::int64_t free = free_blocks();
  for (const NaiveSequence* s : members()) {
    if (s->granted) free -= std::int64_t{s->promised} - s->device_blocks;
  }
  for (const bool inside : {true, false}) {
    for (NaiveSequence* s : members()) {
      const std::int64_t more = std::int64_t{s->promised} - s->device_blocks;
      if (s->granted || (s->device_blocks > 0) != inside || more > free) continue;
      free -= more;
      s->granted = true;
      if (s->state == SequenceState::swapped) order_in(*s);
    }
  }
}

void NaiveSlice::fill() {
  Line decodes, prefills;
  for (NaiveSequence* s : members()) {
    const bool here = s->state == SequenceState::resident || s->state == SequenceState::waiting;
    if (s->granted && here) (s->decodes() ? decodes : prefills).push_back(s);
  }
  const std::uint32_t budget = options_.budget_tokens;
  const auto promised_tokens = [&](const NaiveSequence& s) {
    return s.promised * options_.block_tokens - s.computed;
  };
  std::size_t places = most_sequences();
  std::uint32_t used = 0;
  const std::size_t most = std::min<std::size_t>(
      places, prefills.empty() ? budget : budget - options_.min_prefill_tokens);
  for (NaiveSequence* s : decodes) {
    if (used == most) break;
    if (promised_tokens(*s) == 0) continue;
    add_decode(*s);
    used += 1;
    places -= 1;
  }
  for (NaiveSequence* s : prefills) {
    if (used == budget || places == 0) break;
    const std::uint32_t chunk = std::min({budget - used, s->pending(), promised_tokens(*s)});
    if (chunk == 0) {
      open_ = true;
      continue;
    }
    add_prefill(*s, chunk);
    used += chunk;
    places -= 1;
  }
}

}  // namespace aqua::schedule::test
