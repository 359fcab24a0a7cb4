// SPDX-License-Identifier: Apache-2.0
// Reclaims: a producer wants bytes back by a deadline.
//
// A slab is wanted by at most one open reclaim. An open reclaim covers what it wants, by slabs that
// have returned and by those outstanding; it is done when none is outstanding, or at its deadline.
// Passing the deadline frees nothing: the holders are late, and their returns still count.
#include <algorithm>
#include <tuple>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "ledger/ledger.hpp"

namespace aqua::ledger {
namespace {

// What it costs to take a slab back, cheapest first. Late slabs come last although their holder is
// already moving off them, because it has missed one deadline and may miss another.
enum class Cost { free, scrubbing, live_holder, silent_holder, late };

Cost cost_of(const Slab& row, bool holder_live) {
  if (row.state == SlabState::offered) return Cost::free;
  if (row.state == SlabState::quarantined) return Cost::scrubbing;
  if (row.reclaim != 0) return Cost::late;
  return holder_live && row.state == SlabState::leased ? Cost::live_holder : Cost::silent_holder;
}

}  // namespace

Result<Ledger::ReclaimStart> Ledger::reclaim(const ClientId& producer, std::uint64_t bytes,
                                             Time deadline, Time now) {
  advance(now);
  AQUA_TRY(known(producer, "reclaim"));
  if (bytes == 0) return Error{Code::invalid_argument, "reclaim: 0 bytes"};
  if (deadline <= now_) {
    return Error{Code::invalid_argument, concat("reclaim: deadline ", deadline.count(),
                                                " ms is not after now, ", now_.count(), " ms")};
  }
  forget_finished(producer);
  const std::vector<SlabId> chosen = choose(producer, bytes);
  std::uint64_t had = 0;
  for (const SlabId& slab : chosen) had += slabs_.at(slab).bytes;

  const std::uint64_t id = ++last_reclaim_;
  Reclaim& reclaim = reclaims_[id] = Reclaim{.id = id,
                                             .producer = producer,
                                             .bytes_wanted = std::min(bytes, had),
                                             .started = now_,
                                             .deadline = deadline,
                                             .outstanding = {chosen.begin(), chosen.end()}};
  changed_reclaim(id);
  open_reclaims_[producer].insert(id);
  timers_.arm({TimerKind::reclaim, producer, id}, deadline);
  ReclaimStart start;
  for (const SlabId& slab : chosen) {
    Slab& row = slabs_.at(slab);
    if (row.state == SlabState::offered) start.withdrawn.push_back(slab);
    want(row, reclaim);
  }
  if (chosen.empty()) finish(reclaim);
  start.reclaim = reclaim;
  return start;
}

Result<Ledger::ReclaimStart> Ledger::recall(const ClientId& producer, std::uint64_t bytes,
                                            Time deadline, Time now) {
  AQUA_ASSIGN(ReclaimStart start, reclaim(producer, bytes, deadline, now));
  for (const SlabId& slab : start.withdrawn) {
    Event event{.kind = EventKind::withdrawn, .to = producer, .slab = slab};
    event.reclaim = start.reclaim.id;
    events_.append(event);
  }
  return start;
}

// Makes a reclaim want this slab, and takes the slab over from a finished reclaim.
void Ledger::want(Slab& row, Reclaim& reclaim) {
  if (row.reclaim != 0) reclaims_.at(row.reclaim).outstanding.erase(row.id);
  row.reclaim = reclaim.id;
  const SlabState state = apply(row, SlabEvent::reclaim);
  if (is_held(state)) emit(EventKind::revoke, *row.holder, &row, reclaim.deadline);
}

// Chooses slabs, cheapest first, until `wanted` is covered. Then drops those, costliest first, that
// the others make unnecessary, so that no lease is revoked for nothing.
std::vector<SlabId> Ledger::choose(const ClientId& producer, std::uint64_t wanted) const {
  struct Candidate {
    Cost cost;
    std::uint64_t age;  // grants since this one: the least was granted last
    SlabId id;
    std::uint64_t bytes;
  };
  std::vector<Candidate> candidates;
  for (const SlabId& id : slabs_of(producer)) {
    const Slab& row = slabs_.at(id);
    if (row.reclaim != 0 && !reclaims_.at(row.reclaim).done) continue;
    const auto holder = row.holder ? clients_.find(*row.holder) : clients_.end();
    const bool live = holder != clients_.end() && holder->second.state == ClientState::live;
    candidates.push_back({cost_of(row, live), last_grant_ - row.granted, id, row.bytes});
  }
  std::ranges::sort(candidates, {},
                    [](const Candidate& c) { return std::tie(c.cost, c.age, c.id); });
  std::uint64_t sum = 0;
  const auto end = std::ranges::find_if(candidates, [&](const Candidate& c) {
    if (sum >= wanted) return true;
    sum += c.bytes;
    return false;
  });
  candidates.erase(end, candidates.end());
  std::vector<SlabId> chosen;
  for (auto c = candidates.rbegin(); c != candidates.rend(); ++c) {
    if (c->cost != Cost::free && sum - c->bytes >= wanted) {
      sum -= c->bytes;
    } else {
      chosen.push_back(c->id);
    }
  }
  std::ranges::reverse(chosen);
  return chosen;
}

// Counts a slab that has come back to a reclaim that wanted it.
void Ledger::settle(std::uint64_t id, const SlabId& slab, std::uint64_t bytes) {
  Reclaim& reclaim = reclaims_.at(id);
  reclaim.outstanding.erase(slab);
  reclaim.bytes_returned += bytes;
  changed_reclaim(id);
  if (reclaim.outstanding.empty() && !reclaim.done) finish(reclaim);
}

void Ledger::finish(Reclaim& reclaim) {
  reclaim.done = true;
  changed_reclaim(reclaim.id);
  reclaim.ended = now_;
  timers_.disarm({TimerKind::reclaim, reclaim.producer, reclaim.id});
  const auto open = open_reclaims_.find(reclaim.producer);
  open->second.erase(reclaim.id);
  if (open->second.empty()) open_reclaims_.erase(open);
  ended_reclaims_[reclaim.producer].insert(reclaim.id);
  for (const SlabId& slab : reclaim.outstanding) {
    Slab& row = slabs_.at(slab);
    if (row.holder && !is_alleged(row)) mark_late(row);
  }
  Event event{.kind = EventKind::reclaim_done, .to = reclaim.producer, .slab = {}};
  event.reclaim = reclaim.id;
  events_.append(event);
  if (keeps_changes_) changes_.ended.push_back({.reclaim = reclaim});
  announce(reclaim.producer);
}

void Ledger::forget_finished(const ClientId& producer) {
  const auto ended = ended_reclaims_.find(producer);
  if (ended == ended_reclaims_.end()) return;
  auto id = ended->second.begin();
  for (std::size_t left = ended->second.size(); left > limits_.finished_reclaims; --left) {
    if (reclaims_.at(*id).outstanding.empty()) {
      reclaims_.erase(*id);
      changed_reclaim(*id);
      id = ended->second.erase(id);
    } else {
      ++id;
    }
  }
  if (ended->second.empty()) ended_reclaims_.erase(ended);
}

// Ends all reclaims of a producer that is gone. The caller changes the rows' states right after.
void Ledger::drop_reclaims(const ClientId& producer) {
  for (auto* const side : {&open_reclaims_, &ended_reclaims_}) {
    const auto of = side->find(producer);
    if (of == side->end()) continue;
    for (const std::uint64_t id : of->second) {
      for (const SlabId& slab : reclaims_.at(id).outstanding) {
        slabs_.at(slab).reclaim = 0;
      }
      timers_.disarm({TimerKind::reclaim, producer, id});
      if (Reclaim& reclaim = reclaims_.at(id); keeps_changes_ && !reclaim.done) {
        reclaim.ended = now_;
        changes_.ended.push_back({.reclaim = reclaim, .dropped = true});
      }
      reclaims_.erase(id);
      changed_reclaim(id);
    }
    side->erase(of);
  }
}

}  // namespace aqua::ledger
