// SPDX-License-Identifier: Apache-2.0
// Lender: reclaims, from the asking to the slabs that come home.
#include <algorithm>
#include <array>
#include <utility>

#include "base/concat.hpp"
#include "runtime/lend/lender.hpp"

namespace aqua::runtime {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kHomeward{5000};  // after the deadline, for slabs that nobody holds any more
}

std::shared_ptr<ReclaimState> Lender::reclaim(std::size_t bytes, milliseconds deadline) {
  const auto now = Clock::now();
  auto state = std::make_shared<ReclaimState>(std::min(bytes, lent_bytes()), now, now + deadline);
  if (state->missing_bytes() == 0) {
    state->finish({});
    return state;
  }
  office_.loop.post([this, state] { reclaims_.push_back({state}); });
  return state;
}

Clock::time_point Lender::step(Clock::time_point now) {
  auto next = now + std::chrono::hours(1);
  for (std::size_t i = 0; i < reclaims_.size(); ++i) {
    Pending& pending = reclaims_[i];
    if (pending.state->done()) continue;
    if (pending.ledger_id == 0 && !pending.asking) ask(i);
    // The coordinator ends it at the deadline; without one we do, a little later.
    const auto end = pending.state->deadline() + milliseconds(pending.ledger_id != 0 ? 200 : 0);
    if (now >= end) end_partially(pending);
    next = std::min(next, std::max(end, now + milliseconds(50)));
    if (pending.ledger_id == 0) next = std::min(next, now + milliseconds(50));
  }
  std::erase_if(reclaims_,
                [](const Pending& pending) { return pending.state->missing_bytes() == 0; });
  return next;
}

void Lender::ask(std::size_t position) {
  Pending& pending = reclaims_[position];
  if (office_.coordinator == nullptr || !office_.coordinator->connected()) {
    limit_to_lent(position);
    return take_free_ones();
  }
  pending.asking = true;
  const auto left =
      std::chrono::duration_cast<milliseconds>(pending.state->deadline() - Clock::now());
  office_.errands.post([this, state = pending.state, left = std::max(left, milliseconds(1))] {
    auto started = office_.coordinator->reclaim(state->missing_bytes(), left);
    office_.loop.post([this, state, started = std::move(started)] { on_asked(state, started); });
  });
}

void Lender::on_asked(const std::shared_ptr<ReclaimState>& state,
                      Result<ledger::Ledger::ReclaimStart> started) {
  for (Pending& pending : reclaims_) {
    if (pending.state != state) continue;
    pending.asking = false;
    if (!started.ok()) continue;
    pending.ledger_id = started->reclaim.id;
    // What an earlier reclaim wants already is credited to that one.
    if (!pending.again) {
      state->limit_wanted(state->progress().bytes_returned + started->reclaim.bytes_wanted);
    }
  }
  if (!started.ok()) {
    if (started.error().code != Code::unavailable) {
      office_.log(LogLevel::error, concat("reclaim: ", started.error().message));
      state->finish({});
    }
    return;
  }
  std::vector<std::uint32_t> withdrawn;
  for (const ledger::SlabId& slab : started->withdrawn) withdrawn.push_back(slab.index);
  bring_home(withdrawn);
}

// What earlier reclaims wait for is credited to them. The coordinator sees to that, if any.
void Lender::limit_to_lent(std::size_t position) {
  Pending& pending = reclaims_[position];
  if (std::exchange(pending.limited, true)) return;
  std::size_t left = lent_bytes();
  for (std::size_t i = 0; i < position; ++i) {
    if (!reclaims_[i].state->done()) left -= std::min(left, reclaims_[i].state->missing_bytes());
  }
  pending.state->limit_wanted(pending.state->progress().bytes_returned + left);
}

// No coordinator: what nobody holds is ours to take, since a secret that was shown to
// somebody meanwhile no longer opens anything.
void Lender::take_free_ones() {
  std::size_t missing = 0;
  for (const Pending& pending : reclaims_) missing += pending.state->missing_bytes();
  std::vector<std::uint32_t> free;
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (missing == 0) break;
    if (slab.custody != lending::Custody::free) continue;
    free.push_back(slab.index);
    missing -= std::min(missing, slab.bytes);
  }
  bring_home(free);
}

void Lender::bring_home(std::span<const std::uint32_t> indexes) {
  for (const std::uint32_t index : indexes) {
    office_.returns.post([this, index] { bring_home(index); });
  }
}

// On the returns' thread: unmapping takes milliseconds.
void Lender::bring_home(std::uint32_t index) {
  Homecoming home;
  {
    const MutexLock lock(mu_);
    const auto found = homes_.find(index);
    if (found == homes_.end()) return;  // brought home already, or only now being put up
    home = found->second;
  }
  const std::array<std::uint32_t, 1> one{index};
  auto slabs = exporter_->take_back(one);
  if (!slabs.ok()) {
    // Held or being scrubbed: its return brings it, or the next look.
    if (slabs.error().code != Code::not_found) office_.log(LogLevel::info, slabs.error().message);
    return;
  }
  {
    const MutexLock lock(mu_);
    homes_.erase(index);
  }
  const std::size_t bytes = slabs->front()->bytes();
  home(std::move(slabs->front()));
  // Together, so that what is lent and what reclaims wait for agree on the loop.
  office_.loop.post([this, bytes, now = Clock::now()] {
    lent_bytes_ -= bytes;
    credit(bytes, now);
    office_.budget_changed(BudgetReason::reclaimed);
  });
}

// To the oldest reclaim that still waits; else to one that ended without it.
void Lender::credit(std::size_t bytes, Clock::time_point now) {
  for (const bool ended : {false, true}) {
    for (Pending& pending : reclaims_) {
      if (pending.state->done() != ended || pending.state->missing_bytes() == 0) continue;
      return pending.state->credit(bytes, now);
    }
  }
}

// The deadline has passed: ask who holds what.
void Lender::end_partially(Pending& pending) {
  if (pending.ending) return;
  if (pending.ledger_id == 0) return pending.state->finish({});
  pending.ending = true;
  office_.errands.post([this, state = pending.state, id = pending.ledger_id] {
    std::vector<Holder> holders;
    const auto reclaim = office_.coordinator->reclaim_status(id);
    const auto everything = office_.coordinator->state();
    if (reclaim.ok() && everything.ok()) {
      for (const ledger::SlabId& wanted : reclaim->outstanding) {
        Holder holder{.slab = wanted.index};
        for (const ledger::Slab& slab : everything->slabs) {
          if (slab.id != wanted || !slab.holder) continue;
          holder.bytes = slab.bytes;
          for (const ledger::Client& client : everything->clients) {
            if (client.info.id != *slab.holder) continue;
            holder.name = client.info.name;
            holder.pid = client.info.pid;
          }
        }
        holders.push_back(holder);
      }
    }
    office_.loop.post([this, state, holders = std::move(holders)] {
      for (Pending& ended : reclaims_) {
        if (ended.state == state) ended.ending = false;
      }
      // Nobody holds anything: the last slabs are being scrubbed or reported.
      const bool soon = holders.empty() && Clock::now() < state->deadline() + kHomeward;
      if (!soon && !state->done()) state->finish(holders);
    });
  });
}

}  // namespace aqua::runtime
