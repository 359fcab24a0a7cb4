// SPDX-License-Identifier: Apache-2.0
#include "systems/schedule/decide/queue_scheduler.hpp"

#include <algorithm>

namespace aqua::schedule {

// What is left of tokens, places and blocks while a plan is made. Blocks are claimed in the order
// of arrival, so that a later sequence cannot take what an earlier one waits for.
struct QueueScheduler::Room {
  std::uint32_t tokens = 0;
  std::size_t places = 0;
  std::int64_t free = 0;      // blocks free now
  std::int64_t coming = 0;    // blocks whose copies out are under way
  std::int64_t claimed = 0;   // of both, by residents looked at so far
  std::int64_t promised = 0;  // to prompts let in, for their next chunks
  bool pressed = false;       // somebody was preempted, or has to wait for a block
};

void QueueScheduler::preempt_latest(Room& room) {
  const Slot victim = running_.back();
  running_.pop_back();
  const std::int64_t blocks = table_.at(victim).device_blocks;
  const auto how = how_out(victim);
  order_out(victim, how);
  (how == Preemption::How::swap ? room.coming : room.free) += blocks;
  room.pressed = true;
}

void QueueScheduler::plan_residents(Room& room) {
  while (room.free + room.coming < 0 && !running_.empty()) preempt_latest(room);
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const Slot slot = running_[i];
    if (set_aside_if_stuck(slot)) continue;
    const Sequence& s = table_.at(slot);
    const std::uint32_t chunk = std::min(s.pending(), room.tokens);
    const auto need = std::int64_t{blocks_after(s, chunk)} - s.device_blocks;
    while (i < running_.size() && room.claimed + need > room.free + room.coming) {
      preempt_latest(room);
    }
    if (i == running_.size()) return;  // this one was the latest, and is out
    room.claimed += need;
    if (!s.decodes())
      room.promised += std::int64_t{table_.blocks_for(s.known())} - s.device_blocks - need;
    if (chunk == 0 || room.places == 0) continue;
    if (need > 0 && room.claimed > room.free) {
      room.pressed = true;
      continue;
    }
    s.decodes() ? add_decode(slot) : add_prefill(slot, chunk);
    room.tokens -= chunk;
    room.places -= 1;
  }
}

void QueueScheduler::admit(AdmissionOrder& order, Room& room) {
  std::int64_t left = room.free - room.claimed - room.promised;
  std::size_t inside = running_.size() + table_.count(SequenceState::paging_in);
  for (Slot slot = order.head(); slot != no_slot; slot = order.head()) {
    if (set_aside_if_stuck(slot)) {
      order.pass(false);
      continue;
    }
    const Sequence& s = table_.at(slot);
    const std::int64_t need = table_.blocks_for(s.known());
    const std::int64_t kept_back = inside > 0 ? options_.device_blocks / 100 : 0;
    if (need + kept_back > left || inside >= max_sequences()) return;
    if (s.state == SequenceState::swapped) {
      order_in(slot);
    } else {
      const std::uint32_t chunk = std::min(s.pending(), room.tokens);
      if (chunk == 0 || room.places == 0) return;
      add_prefill(slot, chunk);
      room.tokens -= chunk;
      room.places -= 1;
    }
    order.pass(true);
    left -= need;
    inside += 1;
  }
}

// How many iterations the same batch holds for: as long as all that happens is that decodes take
// free blocks, and enough of these are left.
std::uint32_t QueueScheduler::iterations_without_change(const Room& room) {
  const std::size_t count = decode_slots().size();
  if (!batch().prefills.empty() || count == 0 || room.pressed) return 1;
  slack_.clear();
  std::uint64_t longest = UINT32_MAX;
  for (const Slot slot : decode_slots()) {
    const Sequence& s = table_.at(slot);
    slack_.push_back(s.device_blocks * table_.block_tokens() - s.computed);
    const std::uint64_t most = std::uint64_t{options_.device_blocks} * table_.block_tokens();
    longest = std::min(longest, most - s.known() + 1);
  }
  const auto free = static_cast<std::size_t>(std::max<std::int64_t>(0, free_blocks()));
  if (free >= count) {
    const std::size_t blocks_each = free / count;
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(longest, blocks_each * table_.block_tokens()));
  }
  // Lets `free` decodes take a block each: the batch holds until one more wants one.
  const auto at = slack_.begin() + static_cast<std::ptrdiff_t>(free);
  std::nth_element(slack_.begin(), at, slack_.end());
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(*at, 1, longest));
}

void QueueScheduler::plan_queue(AdmissionOrder& order) {
  running_.clear();
  for (const auto& [arrival, slot] : table_.residents()) running_.push_back(slot);
  Room room;
  room.tokens = options_.budget_tokens;
  room.places = max_sequences();
  room.free = free_blocks();
  room.coming = table_.leaving();
  plan_residents(room);
  if (!room.pressed && room.coming == 0) admit(order, room);
  set_repeat(iterations_without_change(room));
}

}  // namespace aqua::schedule
