// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

// Invariants, which invariants.cpp checks after every call of the tests:
// - A row exists exactly while its slab is not `returned`. It has a holder exactly while is_held().
// - A row changes its state in apply() alone, so that table, index, timers, dirty rows and changes
//   cannot disagree. offer() and restore() make rows; forget_exports() ends them.
// - index_, open_reclaims_, ended_reclaims_ and timers_ follow from the rows. A row is taken out of
//   the index before any field that the index reads is changed, and put in again afterwards.
namespace aqua::ledger {

Ledger::Ledger(Limits limits) : limits_(limits), events_(limits.event_window) {}

Slab* Ledger::find(const SlabId& id) {
  const auto found = slabs_.find(id);
  return found == slabs_.end() ? nullptr : &found->second;
}

// Changes the state of a row: the only place that does. The caller has checked that the table
// accepts the event.
SlabState Ledger::apply(Slab& row, SlabEvent event) {
  const Outcome outcome = transition(row.state, event, row.reclaim != 0);
  assert(outcome.accepted);
  const std::optional<ClientId> holder = row.holder;
  const SlabState from = row.state;
  index_.remove(row);
  // Does not store silence or its end: whoever loads the row takes its holder to be silent anyway.
  if (event != SlabEvent::renew && event != SlabEvent::silence) changed(row.id);
  row.state = outcome.next;
  if (!is_held(row.state)) row.holder.reset();
  if (!row.holder || row.reclaim == 0) row.late = false;
  note(row, event, from, holder);
  if (row.state == SlabState::returned) {
    const Slab gone = row;
    slabs_.erase(gone.id);
    if (gone.reclaim != 0) settle(gone.reclaim, gone.id, gone.bytes);
  } else {
    index_.add(row);
  }
  if (holder) arm_lease_timer(*holder);
  return outcome.next;
}

void Ledger::note(const Slab& row, SlabEvent event, SlabState from,
                  const std::optional<ClientId>& holder) {
  if (!keeps_changes_) return;
  changes_.slabs.push_back({.at = now_,
                            .slab = row.id,
                            .bytes = row.bytes,
                            .event = event,
                            .from = from,
                            .to = row.state,
                            .generation = row.generation,
                            .holder = holder,
                            .reclaim = row.reclaim,
                            .alleged = holder.has_value() && row.granted == 0});
}

void Ledger::take_changes(Changes& into) noexcept {
  into.clear();
  std::swap(into, changes_);
}

void Ledger::mark_late(Slab& row) {
  index_.remove(row);
  row.late = true;
  changed(row.id);
  index_.add(row);
}

void Ledger::emit(EventKind kind, const ClientId& to, const Slab* about, Time deadline) {
  Event event{.kind = kind, .to = to, .slab = {}, .deadline = deadline};
  if (about != nullptr) {
    event.slab = about->id;
    event.generation = about->generation;
    event.reclaim = about->reclaim;
  }
  events_.append(event);
}

std::vector<SlabId> Ledger::slabs_of(const ClientId& producer) const {
  std::vector<SlabId> found;
  for (auto row = slabs_.lower_bound(SlabId{producer, 0});
       row != slabs_.end() && row->first.producer == producer; ++row) {
    found.push_back(row->first);
  }
  return found;
}

std::vector<SlabId> Ledger::held_by(const ClientId& holder) const {
  const HolderIndex& held = index_.holder(holder);
  std::vector<SlabId> found(held.running.begin(), held.running.end());
  found.insert(found.end(), held.suspect.begin(), held.suspect.end());
  found.insert(found.end(), held.orphans.begin(), held.orphans.end());
  return found;
}

void Ledger::advance(Time now) {
  now_ = std::max(now_, now);
  for (auto due = timers_.next(); due && due->first <= now_; due = timers_.next()) {
    const TimerKey key = due->second;
    timers_.disarm(key);
    switch (key.kind) {
      case TimerKind::client:
        clients_.at(key.client).state = ClientState::suspect;
        break;
      case TimerKind::leases:
        silence_leases(key.client);
        break;
      case TimerKind::reclaim:
        finish(reclaims_.at(key.reclaim));
        break;
    }
  }
}

std::optional<Time> Ledger::next_deadline() const {
  const auto next = timers_.next();
  if (!next) return std::nullopt;
  return next->first;
}

std::optional<std::vector<Event>> Ledger::events(const ClientId& client,
                                                 std::uint64_t after) const {
  return events_.since(client, after);
}

}  // namespace aqua::ledger
