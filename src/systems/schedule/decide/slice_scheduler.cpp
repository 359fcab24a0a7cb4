// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/slice_scheduler.hpp"

#include <algorithm>

// Invariants:
// - A sequence that may be dealt a place is filed in queues_ under its present rank and date. A
//   member is not filed, and what is paging out is neither.
// - A promise is backed (`granted`) by free blocks before its member computes, and the member
//   computes only what the promise holds. So it never waits for a block in its slice.
// - last_due_ and clock_ never fall: the date of a newcomer is never before that of one that waits
//   already, and it never starts at less virtual service than an earlier newcomer that brought no
//   lead did.
namespace aqua::schedule {

SliceScheduler::Share& SliceScheduler::share(Slot slot) {
  if (shares_.size() <= slot) shares_.resize(slot + std::size_t{1});
  return shares_[slot];
}

double SliceScheduler::rank_of(Slot slot) const {
  const Sequence& s = table_.at(slot);
  if (rule_ == Rule::cfs) return shares_[slot].service;
  return s.decodes() ? s.generated : s.computed;
}

double SliceScheduler::service_of(Slot slot) const {
  return rank_of(slot);
}

double SliceScheduler::lead_of(Slot slot) const {
  return rule_ == Rule::cfs ? std::max(0.0, shares_[slot].service - clock_) : 0;
}

bool SliceScheduler::falling_back() const noexcept {
  return options_.fcfs_on_slow_tier &&
         (options_.swap_tier == options_.slow_tier || table_.swapped_on(options_.slow_tier) > 0);
}

void SliceScheduler::file(Slot slot) {
  Share& its = shares_[slot];
  if (!its.due_set) set_due(its);
  queues_.file(class_of(slot), {rank_of(slot), its.since, table_.at(slot).arrival, its.due, slot});
}

// Sets the date from which a sequence that waits is served before rank, so that neither newcomers
// nor heavy weights can keep it out: twice the time in which all sequences would have had a turn
// each, and not before the date of any that began to wait earlier.
void SliceScheduler::set_due(Share& its) {
  std::size_t runnable = 0;
  for (const auto state : {SequenceState::waiting, SequenceState::resident, SequenceState::swapped,
                           SequenceState::paging_in, SequenceState::paging_out}) {
    runnable += table_.count(state);
  }
  const std::size_t places = std::max<std::size_t>({1, places_, options_.device_blocks / largest_});
  const std::uint64_t rounds = 2 * ((runnable + places - 1) / places);
  its.due = last_due_ = std::max(last_due_, its.since + rounds * options_.slice_iterations);
  its.due_set = true;
}

// --- what happens ------------------------------------------------------------------------------

void SliceScheduler::on_outside(Slot slot) {
  Share& its = share(slot);
  if (!its.known) {  // it has just arrived, and starts at the least virtual service or ahead of it
    its = {};
    its.known = true;
    its.service = clock_ + std::max(0.0, table_.at(slot).lead);
    its.since = iterations_;
    // Begins a new slice at an arrival when memory is free, as the paper does.
    if (rule_ == Rule::las && blocks_after(table_.at(slot), 1) <= free_blocks()) over_ = true;
  }
  file(slot);
  open_ = true;
}

void SliceScheduler::on_leave(Slot slot) {
  Share& its = share(slot);
  queues_.take(slot);
  its.member = false;
  open_ = true;
}

void SliceScheduler::on_finished(Slot slot) {
  shares_[slot] = {};
  if (rule_ == Rule::las) over_ = true;  // as the paper, when a request completes
}

void SliceScheduler::on_paging_in(Slot slot) {
  queues_.take(slot);
  if (!shares_[slot].member) join(slot, 0);  // the fallback lets it in
}

void SliceScheduler::join(Slot slot, std::uint32_t promised) {
  Share& its = share(slot);
  its.member = true;
  its.granted = false;
  its.promised = promised;
  largest_ = std::max(largest_, promised);
  members_.push_back(slot);
}

void SliceScheduler::on_resident(Slot slot) {
  // Files what came in or stayed without being a member, so that it may be dealt a place.
  if (!shares_[slot].member && !queues_.filed(slot)) file(slot);
  open_ = true;
}

void SliceScheduler::on_computed(Slot slot, std::uint32_t tokens, std::uint32_t generated,
                                 std::uint32_t iterations) {
  Share& its = shares_[slot];
  its.service += iterations / table_.at(slot).weight;
  its.since = iterations_ + iterations;
  its.due_set = false;
  // Opens the slice at the end of a prompt, whose part of the budget another may have.
  if (tokens > generated && generated > 0) open_ = true;
}

void SliceScheduler::on_committed(std::uint32_t iterations) {
  iterations_ += iterations;
  done_ += iterations;
  ran_ = true;
  if (done_ >= options_.slice_iterations) over_ = true;
}

// --- plans -------------------------------------------------------------------------------------

// Goes on with the fallback until something was computed in it. What it lets in may be the last
// that was on the slow tier; a slice would send that out again, back to the slow tier, and so on
// for ever.
void SliceScheduler::plan() {
  if (falling_back()) {
    fallback_ = true;
    ran_ = false;
  } else if (ran_) {
    fallback_ = false;
  }
  if (fallback_) {
    plan_fallback();
    if (!falling_back()) set_repeat(1);  // the next iteration is planned otherwise
  } else {
    plan_slice();
  }
}

// Plans first come, first served. All that is computed becomes a member, so that no queue holds old
// ranks; the slice that begins when the fallback is over files all of them again.
void SliceScheduler::plan_fallback() {
  over_ = true;
  std::erase_if(members_, [&](Slot slot) { return !shares_[slot].member; });
  ArrivalOrder order(table_);
  plan_queue(order);
  for (const auto slots : {prefill_slots(), decode_slots()}) {
    for (const Slot slot : slots) {
      queues_.take(slot);
      if (!shares_[slot].member) join(slot, 0);
    }
  }
}

void SliceScheduler::plan_slice() {
  for (const Slot slot : sent_out_) shares_[slot].sent_out = false;
  sent_out_.clear();
  std::erase_if(members_, [&](Slot slot) { return !shares_[slot].member; });
  if (over_ || members_.empty()) {
    begin_slice();
  } else if (open_) {
    top_up();
  }
  run_slice();
  while (!batch().computes() && !table_.copies_under_way()) {
    if (!force_progress()) return;
  }
}

// Ends the membership of all but those on their way in. These begin to wait at once, so that the
// date of one does not put off another's.
void SliceScheduler::end_members() {
  const std::uint64_t earlier = last_due_;
  std::uint64_t latest = last_due_;
  for (const Slot slot : members_) {
    Share& its = shares_[slot];
    its.granted = false;
    if (!its.member || table_.at(slot).state == SequenceState::paging_in) continue;
    its.member = false;
    its.promised = 0;
    last_due_ = earlier;
    file(slot);
    latest = std::max(latest, last_due_);
  }
  last_due_ = latest;
  std::erase_if(members_, [&](Slot slot) { return !shares_[slot].member; });
}

void SliceScheduler::begin_slice() {
  end_members();
  if (done_ > 0) slices_ += 1;  // does not count one that never ran
  done_ = 0;
  over_ = open_ = false;
  if (rule_ == Rule::cfs) clock_ = std::max(clock_, queues_.least_rank(clock_));
  for (const Slot slot : members_) {  // those on their way in stay
    shares_[slot].promised = blocks_wanted(slot, options_.budget_tokens);
  }
  Hand cards = hand(false);
  deal(cards);
  if (!queues_.empty() && !members_.empty()) places_ = members_.size();
  preempt_idle();
}

// Deals what has become free in the middle of a slice. Nothing is preempted for it.
void SliceScheduler::top_up() {
  open_ = false;
  Hand cards = hand(true);
  deal(cards);
}

// Preempts residents that are no members, last in rank first, until the promises have room.
void SliceScheduler::preempt_idle() {
  std::int64_t excess = -std::int64_t{options_.device_blocks};
  idle_.clear();
  for (const Slot slot : members_) excess += shares_[slot].promised;
  for (const auto& [arrival, slot] : table_.aside()) excess += table_.at(slot).device_blocks;
  for (const auto& [arrival, slot] : table_.residents()) {
    if (shares_[slot].member) continue;
    excess += table_.at(slot).device_blocks;
    idle_.push_back(slot);
  }
  const auto key = [&](Slot slot) { return queues_.key(slot); };
  std::sort(idle_.begin(), idle_.end(),
            [&](Slot a, Slot b) { return SliceQueues::ByRank{}(key(b), key(a)); });
  for (const Slot slot : idle_) {
    if (excess <= 0) break;
    const auto how = how_out(slot);
    const bool wished = how == Preemption::How::swap || options_.preempt_by != PreemptBy::swap;
    const bool forced = free_blocks() + table_.leaving() < 0;
    if (wished || forced) {
      excess -= table_.at(slot).device_blocks;
      send_out(slot, how);
    } else {
      // Lets it run on as a member: the swap space is full, and to throw its KV away for the sake
      // of fairness would do more harm.
      queues_.take(slot);
      const std::uint32_t held = table_.at(slot).device_blocks;
      join(slot, std::max(blocks_wanted(slot, options_.budget_tokens), held));
      excess += shares_[slot].promised - held;
    }
  }
}

void SliceScheduler::run_slice() {
  grant();
  fill_batch();
}

// Backs promises with free blocks: those of residents first, which want few, then the others in the
// order dealt.
void SliceScheduler::grant() {
  std::int64_t free = free_blocks();
  for (const Slot slot : members_) {
    const Share& its = shares_[slot];
    if (its.granted) free -= std::int64_t{its.promised} - table_.at(slot).device_blocks;
  }
  for (const bool inside : {true, false}) {
    for (const Slot slot : members_) {
      Share& its = shares_[slot];
      const Sequence& s = table_.at(slot);
      if (its.granted || (s.device_blocks > 0) != inside) continue;
      const std::int64_t more = std::int64_t{its.promised} - s.device_blocks;
      if (more > free) continue;
      free -= more;
      if (s.state == SequenceState::swapped) order_in(slot);
      its.granted = true;
    }
  }
}

void SliceScheduler::fill_batch() {
  const std::uint32_t budget = options_.budget_tokens;
  const auto runs = [&](Slot slot) {
    const SequenceState state = table_.at(slot).state;
    return shares_[slot].granted &&
           (state == SequenceState::resident || state == SequenceState::waiting);
  };
  const bool prefills = std::any_of(members_.begin(), members_.end(), [&](Slot slot) {
    return runs(slot) && !table_.at(slot).decodes();
  });
  const std::size_t most = std::min<std::size_t>(
      max_sequences(), prefills ? budget - options_.min_prefill_tokens : budget);
  std::uint32_t repeat = options_.slice_iterations - done_;
  std::uint32_t used = 0;
  std::size_t places = max_sequences();
  const auto promised_tokens = [&](Slot slot) {
    return shares_[slot].promised * table_.block_tokens() - table_.at(slot).computed;
  };
  for (const Slot slot : members_) {
    if (used == most) break;
    if (!runs(slot) || !table_.at(slot).decodes()) continue;
    const std::uint32_t left = promised_tokens(slot);
    if (left == 0) continue;  // goes on in the next slice: it is beyond max_new_tokens
    repeat = std::min(repeat, left);
    add_decode(slot);
    used += 1;
    places -= 1;
  }
  for (const Slot slot : members_) {
    if (used == budget || places == 0 || !prefills) break;
    if (!runs(slot) || table_.at(slot).decodes()) continue;
    const std::uint32_t chunk =
        std::min({budget - used, table_.at(slot).pending(), promised_tokens(slot)});
    if (chunk == 0) {  // its part of the slice is computed, and another may be dealt a place
      open_ = true;
      continue;
    }
    add_prefill(slot, chunk);
    used += chunk;
    places -= 1;
  }
  set_repeat(prefills ? 1 : repeat);
}

void SliceScheduler::send_out(Slot slot, Preemption::How how) {
  order_out(slot, how);
  shares_[slot].sent_out = true;
  sent_out_.push_back(slot);
}

// Makes something run when nothing runs, nothing moves and so no event will come. A new slice may
// help; if it has just begun, the swap space is full, and a resident is dropped to be computed
// again: by a later plan, since a batch names a sequence once.
bool SliceScheduler::force_progress() {
  if (done_ == 0) {
    if (table_.residents().empty()) return false;
    send_out(table_.residents().rbegin()->second, Preemption::How::recompute);
  }
  begin_slice();
  run_slice();
  return true;
}

}  // namespace aqua::schedule
