// SPDX-License-Identifier: Apache-2.0
// AutoScheduler: who is let in, and who makes room.
//
// Four in turn: the overdue, prompts, answers whose next token is due, and, where nobody has to
// make room, the others. Who does not fit claims the blocks that are free or on their way out, so
// that nobody behind takes them.
#include <algorithm>
#include <limits>
#include <utility>

#include "systems/schedule/decide/auto_scheduler.hpp"

namespace aqua::schedule {
namespace {

constexpr double kLongAgo = -std::numeric_limits<double>::infinity();
// Iterations of decodes for which blocks are kept free, so that a copy out can be over in time.
constexpr std::uint32_t kAhead = 4;
// Iterations of prompt tokens for which room is made: what is computed, and what comes next.
constexpr std::uint32_t kWindow = 2;

}  // namespace

void AutoScheduler::plan() {
  this_plan_ += 1;
  learn();
  place_newcomers();
  demote();
  promote();
  refused_ = false;
  fresh_.clear();
  Room room;
  gather(room);
  relieve(room);
  bring_overdue(room);
  bring_prompts(room);
  bring_due(room);
  bring_others(room);
  fill_batch();
  if (!batch().computes() && !batch().moves() && !table_.copies_under_way()) force_progress();
  const bool contended = !queues_.paced_answers().empty() || !queues_.backlogged().empty() ||
                         table_.count(SequenceState::paging_out) > 0 || returning_ > 0;
  if (std::exchange(contended_, contended) && !contended) calm_from_ = iterations_;
  time_repeated();
  last_decodes_ = decode_slots().size();
  last_chunk_tokens_ = 0;
  for (const PrefillChunk& chunk : batch().prefills) last_chunk_tokens_ += chunk.tokens;
  share_as(refused_           ? Sharing::none
           : !contended_      ? Sharing::whole
           : backlog_.empty() ? Sharing::fair
                              : Sharing::partial);
}

// Counts the blocks that hold all it knows and `tokens` more.
std::int64_t AutoScheduler::wanted(Slot slot, std::uint32_t tokens) const {
  const Sequence& s = table_.at(slot);
  std::uint32_t more = tokens;
  if (s.max_new > 0) more = std::min(more, s.max_new > s.generated ? s.max_new - s.generated : 1);
  const std::uint32_t blocks = table_.blocks_for(std::uint64_t{s.known()} - 1 + more);
  return std::min(blocks, options_.device_blocks);
}

// Counts what a resident wants beyond the blocks that it has.
std::int64_t AutoScheduler::claim(Slot slot) const {
  const std::uint32_t ahead = prefills(slot) ? 1 : std::min(kAhead, options_.slice_iterations);
  return wanted(slot, ahead) - table_.at(slot).device_blocks;
}

void AutoScheduler::gather(Room& room) {
  running_.clear();
  for (const auto& [arrival, slot] : table_.residents()) running_.push_back(slot);
  std::erase_if(running_, [&](Slot slot) { return set_aside_if_stuck(slot); });
  const auto decodes = static_cast<std::size_t>(
      std::ranges::count_if(running_, [&](Slot slot) { return !prefills(slot); }));
  const std::size_t most = options_.budget_tokens - options_.min_prefill_tokens;
  room.window = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kWindow * prompt_tokens_beside(std::min(decodes, most)),
                              std::numeric_limits<std::uint32_t>::max()));
  for (const Slot slot : running_) {
    room.claimed += claim(slot);
    if (prefills(slot)) {
      room.window -= std::min(room.window, table_.at(slot).pending());
    } else {
      room.urgent += std::int64_t{blocks_after(table_.at(slot), 1)} - table_.at(slot).device_blocks;
    }
  }
}

// Who keeps a place longest comes first. A prefill that would be dropped is kept to its end: it
// would begin again, and nobody's would ever come to an end where all are longer than a slice.
std::pair<AutoScheduler::Claim, double> AutoScheduler::keep(Slot slot) const {
  const Share& its = shares_[slot];
  const auto arrival = static_cast<double>(table_.at(slot).arrival);
  const bool lost = prefills(slot) && how_wanted(slot) == Preemption::How::recompute;
  if (lost || its.held_until > iterations_) return {Claim::held, static_cast<double>(its.since)};
  if (prefills(slot)) return {Claim::prompt, arrival};
  return its.paced ? std::pair{Claim::paced, token_due(slot)} : std::pair{Claim::backlog, arrival};
}

void AutoScheduler::sort_running(Room& room) {
  if (std::exchange(room.sorted, true)) return;
  by_keep_.clear();
  for (const Slot slot : running_) by_keep_.emplace_back(keep(slot), table_.at(slot).arrival, slot);
  std::ranges::sort(by_keep_);
  for (std::size_t i = 0; i < running_.size(); ++i) running_[i] = std::get<Slot>(by_keep_[i]);
}

// Preempts who goes first. Unless it is forced, not where its KV would be thrown away for want of
// swap space: to compute it again does more harm than its going does good.
bool AutoScheduler::evict_last(Room& room, bool forced) {
  const Slot slot = running_.back();
  const Sequence& s = table_.at(slot);
  const auto how = how_out(slot);
  if (how != how_wanted(slot) && !forced) {
    refused_ = true;
    return false;
  }
  room.claimed -= claim(slot);
  if (!prefills(slot)) room.urgent -= std::int64_t{blocks_after(s, 1)} - s.device_blocks;
  running_.pop_back();
  shares_[slot].handled = this_plan_;
  order_out(slot, how);
  return true;
}

// Makes room for what decodes will take in the next iterations, or for a device that has shrunk.
void AutoScheduler::relieve(Room& room) {
  const auto left = [&] { return free_blocks() + table_.leaving(); };
  if (room.claimed <= left()) return;
  sort_running(room);
  while (room.claimed > left() && running_.size() > 1) {
    if (keep(running_.back()).first == Claim::held || !evict_last(room, false)) break;
  }
  while ((room.urgent > left() && running_.size() > 1) || (left() < 0 && !running_.empty())) {
    (void)evict_last(room, true);
  }
}

std::size_t AutoScheduler::inside() const noexcept {
  return running_.size() + fresh_.size() + table_.count(SequenceState::paging_in);
}

// Preempts until a place and `need` blocks are free or on their way to be: those whose claim comes
// after `over`, paced ones only when their next token is due after `later_than`. Nobody where all
// of them together would not do.
bool AutoScheduler::make_room(Room& room, std::int64_t need, Claim over, double later_than) {
  const std::int64_t left = free_blocks() + table_.leaving();
  std::int64_t freed = 0;
  std::uint64_t swapped = table_.swap_held();
  std::size_t go = 0;  // so many of running_, from its end
  while (room.claimed + need > left + freed || inside() - go >= max_sequences()) {
    if (go == running_.size()) return false;
    sort_running(room);
    const Slot slot = running_[running_.size() - 1 - go];
    const auto [kept, value] = keep(slot);
    if (kept <= over) return false;
    if (kept == Claim::paced && value <= later_than) return false;
    const std::uint32_t blocks = table_.at(slot).device_blocks;
    const bool swaps = how_wanted(slot) == Preemption::How::swap;
    if (swaps) swapped += blocks;
    if (swaps && swapped > swap_limit()) {
      refused_ = true;
      return false;
    }
    freed += claim(slot) + blocks;
    go += 1;
  }
  for (; go > 0; --go) (void)evict_last(room, false);
  return true;
}

// Pages it in or has its prompt computed if its blocks are free; claims them if they will be.
void AutoScheduler::let_in(Room& room, Slot slot, std::int64_t need) {
  const bool now = room.claimed + need <= free_blocks();
  room.claimed += need;
  if (!now) return;
  if (table_.at(slot).state == SequenceState::swapped) {
    if (overdue(slot)) shares_[slot].held_until = iterations_ + options_.slice_iterations;
    order_in(slot);
    room.claimed -= table_.at(slot).device_blocks;  // no longer free
  } else {
    fresh_.push_back(slot);
    if (!shares_[slot].answers) room.prompts += 1;
  }
}

// False when it does not fit, whoever makes room.
bool AutoScheduler::bring(Room& room, Slot slot, Claim over, double later_than) {
  if (handled(slot) || set_aside_if_stuck(slot)) return true;
  shares_[slot].handled = this_plan_;
  const std::int64_t need = wanted(slot, prefills(slot) ? 1 : options_.slice_iterations);
  if (!make_room(room, need, over, later_than)) {
    room.blocked = true;
    return false;
  }
  if (prefills(slot)) room.window -= std::min(room.window, table_.at(slot).pending());
  let_in(room, slot, need);
  return true;
}

// In these loops whoever is looked at may leave the queue, and nobody else does.
void AutoScheduler::bring_overdue(Room& room) {
  const auto& prefills = queues_.prefills_by_date();
  const auto& decodes = queues_.decodes_by_date();
  auto prefill = prefills.begin();
  auto decode = decodes.begin();
  while (!room.blocked) {
    const bool some = room.window > 0 && prefill != prefills.end();
    const bool prefill_first =
        some && (decode == decodes.end() || AutoQueues::ByDate{}(*prefill, *decode));
    if (!prefill_first && decode == decodes.end()) return;
    auto& at = prefill_first ? prefill : decode;
    if (at->overdue_from > iterations_) return;
    (void)bring(room, (at++)->slot, Claim::held, kLongAgo);
  }
}

void AutoScheduler::bring_prompts(Room& room) {
  const auto& queue = queues_.prompts();
  for (auto at = queue.begin(); at != queue.end() && room.window > 0 && !room.blocked;) {
    const Slot slot = (at++)->slot;
    if (!overdue(slot)) (void)bring(room, slot, Claim::prompt, kLongAgo);
  }
}

// Brings back who would fall behind its pace while it comes. Who makes room for it is ahead by what
// a slice gives it, so that the two do not change places again at once; by no more than weight 1
// would be given, so that those whose tokens are due at long intervals find somebody.
void AutoScheduler::bring_due(Room& room) {
  const double comes = now() + return_s_.value() + 2 * iteration_s_;
  const auto& queue = queues_.paced_answers();
  for (auto at = queue.begin(); at != queue.end() && at->token_due <= comes && !room.blocked;) {
    const Slot slot = (at++)->slot;
    if (overdue(slot) || handled(slot)) continue;
    if (prefills(slot) && room.window == 0) continue;  // those behind may need none
    if (gives_up(slot)) {
      set_pace(slot, false);
      continue;
    }
    const double pace = std::min(shares_[slot].pace, options_.seconds_per_token);
    const double gains = std::max(0.0, pace - iteration_s_);
    (void)bring(room, slot, Claim::prompt, comes + gains * options_.slice_iterations);
  }
}

// Lets in who is not due yet, then the backlog, where nobody has to make room for them and half a
// slice's growth of those inside is left.
void AutoScheduler::bring_others(Room& room) {
  if (room.blocked || table_.leaving() > 0 || queues_.prompts().size() > room.prompts) return;
  const std::uint32_t n = options_.slice_iterations;
  const std::int64_t growth =
      static_cast<std::int64_t>(inside()) * n / (std::int64_t{2} * options_.block_tokens);
  const auto fits = [&](Slot slot) {
    if (prefills(slot) && room.window == 0) return false;
    const std::int64_t need = wanted(slot, prefills(slot) ? 1 : n);
    const std::int64_t kept = inside() > 0 ? growth : 0;
    if (inside() >= max_sequences() || room.claimed + need + kept > free_blocks()) return false;
    if (prefills(slot)) room.window -= std::min(room.window, table_.at(slot).pending());
    let_in(room, slot, need);
    return true;
  };
  const auto all = [&](const auto& queue) {
    for (auto at = queue.begin(); at != queue.end();) {
      const Slot slot = (at++)->slot;
      if (handled(slot) || set_aside_if_stuck(slot)) continue;
      shares_[slot].handled = this_plan_;
      if (!fits(slot)) return false;
    }
    return true;
  };
  if (all(queues_.paced_answers())) (void)all(queues_.backlogged());
}

// Makes something run when nothing runs, nothing moves and so no event will come: drops a resident
// to be computed again.
void AutoScheduler::force_progress() {
  if (running_.empty()) return;
  Room room;
  sort_running(room);
  order_out(running_.back(), Preemption::How::recompute);
}

}  // namespace aqua::schedule
