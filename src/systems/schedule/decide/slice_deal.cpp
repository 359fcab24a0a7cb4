// SPDX-License-Identifier: Apache-2.0
// The dealing: which sequences get a place in a slice.
//
// A place comes with blocks for all that the sequence may compute in the slice. While dealing,
// queues_ is not changed, so that the iterators over it stay good; deal() takes the new members out
// of it at the end.
#include <algorithm>

#include "systems/schedule/decide/slice_scheduler.hpp"

namespace aqua::schedule {

// Counts the blocks for all that a sequence may compute in the rest of the slice.
std::uint32_t SliceScheduler::blocks_wanted(Slot slot, std::uint64_t prefill_tokens) const {
  const Sequence& s = table_.at(slot);
  std::uint64_t tokens = s.decodes() ? 0 : std::min<std::uint64_t>(s.pending(), prefill_tokens);
  if (tokens == s.pending() || s.decodes()) {
    std::uint64_t decoded = options_.slice_iterations - done_;
    if (s.max_new > 0) {
      // Leaves out the last generated token, which is never computed.
      const std::uint32_t left = s.max_new > s.generated ? s.max_new - s.generated : 1;
      decoded = std::min<std::uint64_t>(decoded, s.decodes() ? left : left - 1);
    }
    tokens += decoded;
  }
  return std::min(blocks_after(s, std::max<std::uint64_t>(tokens, 1)), options_.device_blocks);
}

// Counts the tokens that this slice has still to compute of a member's prompt.
std::uint64_t SliceScheduler::prefill_planned(Slot slot) const {
  const Sequence& s = table_.at(slot);
  const std::uint64_t room = std::uint64_t{shares_[slot].promised} * table_.block_tokens();
  return std::min<std::uint64_t>(s.pending(), room - std::min<std::uint64_t>(room, s.computed));
}

// Counts the decodes, by rank, that memory would hold if there were no prefill: the paper's d.
std::size_t SliceScheduler::decodes_that_fit(std::int64_t blocks) const {
  const std::size_t most = options_.budget_tokens - options_.min_prefill_tokens;
  std::size_t count = 0;
  for (const auto& key : queues_.by_rank(SliceQueues::decode)) {
    if (shares_[key.slot].member) continue;
    blocks -= blocks_wanted(key.slot, 0);
    if (blocks < 0 || count == most) break;
    count += 1;
  }
  return count;
}

SliceScheduler::Taken SliceScheduler::taken() const {
  Taken sum;
  for (const Slot slot : members_) {
    if (!shares_[slot].member) continue;
    sum.blocks += shares_[slot].promised;
    sum.places += 1;
    if (table_.at(slot).decodes()) {
      sum.decodes += 1;
    } else {
      sum.prefill_tokens += prefill_planned(slot);
    }
  }
  return sum;
}

std::uint64_t SliceScheduler::prefill_left(std::size_t decodes, std::uint64_t planned) const {
  const std::uint64_t iterations = options_.slice_iterations - done_;
  const std::uint64_t budget = options_.budget_tokens;
  const std::uint64_t tokens = (budget - std::min<std::uint64_t>(budget, decodes)) * iterations;
  return tokens - std::min(tokens, planned);
}

// Counts what the members leave of the slice. With `idle_taken` the blocks of residents that are no
// members are not left; without it they are, because these residents can be preempted.
SliceScheduler::Hand SliceScheduler::hand(bool idle_taken) const {
  const Taken members = taken();
  Hand hand;
  hand.idle_taken = idle_taken;
  hand.blocks = options_.device_blocks - members.blocks;
  for (const auto& [arrival, slot] : table_.aside()) hand.blocks -= table_.at(slot).device_blocks;
  for (const auto& [arrival, slot] : table_.residents()) {
    if (idle_taken && !shares_[slot].member) hand.blocks -= table_.at(slot).device_blocks;
  }
  hand.places = max_sequences() - std::min<std::size_t>(max_sequences(), members.places);
  const bool prefills =
      members.prefill_tokens > 0 || !queues_.by_rank(SliceQueues::prefill).empty();
  const std::size_t most = options_.budget_tokens - (prefills ? options_.min_prefill_tokens : 0);
  hand.decodes = most - std::min(most, members.decodes);
  const std::size_t d = std::min(most, members.decodes + decodes_that_fit(hand.blocks));
  hand.prefill_tokens = prefill_left(d, members.prefill_tokens);
  return hand;
}

bool SliceScheduler::offer(Slot slot, Hand& hand) {
  if (hand.places == 0) return false;
  const bool decodes = table_.at(slot).decodes();
  if (decodes ? hand.decodes == 0 : hand.prefill_tokens == 0) return false;
  const std::uint32_t wanted = blocks_wanted(slot, hand.prefill_tokens);
  const std::uint32_t has = hand.idle_taken ? table_.at(slot).device_blocks : 0;
  if (std::int64_t{wanted} - has > hand.blocks) return false;
  hand.blocks -= std::int64_t{wanted} - has;
  hand.places -= 1;
  if (decodes) {
    hand.decodes -= 1;
  } else {
    hand.prefill_tokens -= std::min<std::uint64_t>(table_.at(slot).pending(), hand.prefill_tokens);
  }
  join(slot, wanted);
  picked_.push_back(slot);
  return true;
}

// Gives a place to the next of a queue that is no member yet and is due by `due`. False when the
// queue has none, or its next does not fit.
template <typename Queue>
bool SliceScheduler::pick(const Queue& queue, typename Queue::const_iterator& at, Hand& hand,
                          std::uint64_t due) {
  for (; at != queue.end(); ++at) {
    if (shares_[at->slot].member || shares_[at->slot].sent_out) continue;
    if (at->due > due) return false;
    if (table_.blocks_for(table_.at(at->slot).known()) <= options_.device_blocks) break;
    too_large_.push_back(at->slot);  // deal() sets it aside
  }
  return at != queue.end() && offer(at->slot, hand);
}

// Deals in the paper's order: prefills first, by fewest tokens computed; then decodes, by fewest
// generated; what decodes leave of their part goes to prefills.
void SliceScheduler::deal_las(Hand& hand) {
  const auto& prefills = queues_.by_rank(SliceQueues::prefill);
  const auto& decodes = queues_.by_rank(SliceQueues::decode);
  auto prefill = prefills.begin();
  auto decode = decodes.begin();
  while (pick(prefills, prefill, hand)) {
  }
  while (pick(decodes, decode, hand)) {
  }
  give_back(hand);
  while (pick(prefills, prefill, hand)) {
  }
}

// Deals in rounds of four: the prefill and the decode that are overdue longest, then the prefill
// and the decode of least virtual service. The class that begins alternates from slice to slice.
void SliceScheduler::deal_cfs(Hand& hand) {
  const auto& p_rank = queues_.by_rank(SliceQueues::prefill);
  const auto& d_rank = queues_.by_rank(SliceQueues::decode);
  const auto& p_due = queues_.by_due(SliceQueues::prefill);
  const auto& d_due = queues_.by_due(SliceQueues::decode);
  auto p_by_rank = p_rank.begin();
  auto d_by_rank = d_rank.begin();
  auto p_by_due = p_due.begin();
  auto d_by_due = d_due.begin();
  const auto one = [&](std::size_t queue) {
    switch (queue) {
      case 0:
        return pick(p_due, p_by_due, hand, iterations_);
      case 1:
        return pick(d_due, d_by_due, hand, iterations_);
      case 2:
        return pick(p_rank, p_by_rank, hand);
      default:
        return pick(d_rank, d_by_rank, hand);
    }
  };
  const std::size_t first = slices_ % 2;
  const auto rounds = [&] {
    bool open[4] = {true, true, true, true};
    while (open[0] || open[1] || open[2] || open[3]) {
      for (const std::size_t queue : {first, 1 - first, 2 + first, 3 - first}) {
        if (open[queue]) open[queue] = one(queue);
      }
    }
  };
  rounds();
  give_back(hand);
  rounds();
}

// Gives prefills the tokens of decodes that were counted on and not dealt a place.
void SliceScheduler::give_back(Hand& hand) {
  const Taken members = taken();
  hand.prefill_tokens = prefill_left(members.decodes, members.prefill_tokens);
}

void SliceScheduler::deal(Hand& hand) {
  picked_.clear();
  too_large_.clear();
  rule_ == Rule::las ? deal_las(hand) : deal_cfs(hand);
  for (const Slot slot : picked_) queues_.take(slot);
  for (const Slot slot : too_large_) {
    if (!table_.at(slot).stuck) (void)set_aside_if_stuck(slot);
  }
}

}  // namespace aqua::schedule
