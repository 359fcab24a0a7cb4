#include "runtime/lender.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"

namespace aqua::runtime {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kHomeward{5000};  // after the deadline, for slabs that nobody holds any more
}

std::optional<ledger::OfferedSlab> to_offer(const lending::SlabStatus& slab) {
  if (slab.custody == lending::Custody::scrubbing) return std::nullopt;
  return ledger::OfferedSlab{slab.index, slab.bytes, slab.generation, slab.secret, slab.holder};
}

void Lender::lend(std::vector<std::unique_ptr<device::Slab>> slabs, Homecoming home) {
  for (const auto& slab : slabs) lent_bytes_ += slab->bytes();
  // std::function wants copyable captures.
  auto shared = std::make_shared<std::vector<std::unique_ptr<device::Slab>>>(std::move(slabs));
  office_.errands.post(
      [this, shared, home = std::move(home)] { put_up(std::move(*shared), home); });
}

void Lender::put_up(std::vector<std::unique_ptr<device::Slab>> slabs, const Homecoming& home) {
  auto offered = exporter_->put_up(slabs);
  if (!offered.ok()) {
    office_.log(LogLevel::error, concat("lend: ", offered.error().message));
    for (auto& slab : slabs) {
      lent_bytes_ -= slab->bytes();
      home(std::move(slab));
    }
    return office_.budget_changed(BudgetReason::reclaimed);
  }
  std::vector<ledger::OfferedSlab> offers;
  {
    const MutexLock lock(mu_);
    for (const lending::SlabStatus& slab : *offered) {
      homes_.emplace(slab.index, home);
      offers.push_back(*to_offer(slab));
    }
  }
  // Unavailable: declare() tells it when there is a coordinator.
  if (office_.coordinator != nullptr) {
    const auto told = office_.coordinator->offer(offers);
    if (!told.ok() && told.error().code != Code::unavailable) {
      office_.log(LogLevel::warning, concat("offer: ", told.error().message));
    }
  }
  office_.budget_changed(BudgetReason::offered);
}

void Lender::declare() {
  exporter_->renew_free();
  std::vector<ledger::OfferedSlab> offers;
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (auto offer = to_offer(slab)) offers.push_back(*offer);
  }
  if (offers.empty()) return;
  if (auto told = office_.coordinator->offer(offers); !told.ok()) {
    office_.log(LogLevel::warning, concat("declare: ", told.error().message));
  }
}

void Lender::on_connected(const southbound::Session& session) {
  for (Pending& pending : reclaims_) {
    if (!session.new_epoch) continue;
    pending.ledger_id = 0;  // it knows of no reclaim of ours
    pending.again = true;
  }
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
  if (office_.coordinator == nullptr || !office_.coordinator->connected()) return take_free_ones();
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
  lent_bytes_ -= bytes;
  office_.loop.post([this, bytes, now = Clock::now()] { credit(bytes, now); });
  office_.budget_changed(BudgetReason::reclaimed);
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

void Lender::on_freed(const lending::SlabStatus& slab) {
  office_.loop.post([this, slab] {
    if (office_.coordinator != nullptr && office_.coordinator->connected()) {
      office_.errands.post([this, slab] { report_freed(slab); });
    }  // otherwise: taken by step() if a reclaim wants it, declared when there is a coordinator
  });
}

// On the errands' thread.
void Lender::report_freed(const lending::SlabStatus& slab) {
  const std::array<wire::Scrub, 1> scrub{wire::Scrub{slab.index, slab.generation - 1, slab.secret}};
  auto told = office_.coordinator->scrubbed(scrub);
  if (!told.ok()) return;  // unavailable: declared anew with the next session
  const auto& state = told->front();
  if (state.ok() && *state == ledger::SlabState::returned) {
    office_.returns.post([this, index = slab.index] { bring_home(index); });
  } else if (!state.ok() && state.error().code == Code::not_found) {
    const std::array<ledger::OfferedSlab, 1> offer{*to_offer(slab)};
    (void)office_.coordinator->offer(offer);  // unavailable: as above
  }
}

void Lender::on_event(const ledger::Event& event) {
  using Kind = ledger::EventKind;
  if (event.kind == Kind::returned || event.kind == Kind::holder_dead) {
    if (!exporter_->knows(event.slab.index)) {  // taken home while it was being offered
      ledger::Slab row;
      row.id = event.slab;
      row.generation = event.generation;
      row.state = ledger::SlabState::quarantined;
      return forget_row(row);
    }
    exporter_->grant_ended(
        event.slab.index, event.generation,
        event.kind == Kind::returned ? lending::GrantEnd::returned : lending::GrantEnd::died);
  } else if (event.kind == Kind::reclaim_done) {
    for (Pending& pending : reclaims_) {
      if (pending.ledger_id != event.reclaim || pending.state->done()) continue;
      if (Clock::now() >= pending.state->deadline())
        end_partially(pending);  // else the last slabs are on their way
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

void Lender::on_snapshot(const wire::Snapshot& snapshot) {
  const auto ours = exporter_->status();
  offer_missing(snapshot, ours);
  for (const ledger::Slab& row : snapshot.own) {
    const auto known = std::find_if(ours.begin(), ours.end(), [&](const lending::SlabStatus& slab) {
      return slab.index == row.id.index;
    });
    if (known == ours.end()) {
      forget_row(row);
    } else if (row.state == ledger::SlabState::quarantined) {
      if (known->generation > row.generation) {
        office_.errands.post([this, slab = *known] { report_freed(slab); });  // its report was lost
      } else {
        exporter_->grant_ended(row.id.index, row.generation, lending::GrantEnd::returned);
      }
    } else if (known->custody == lending::Custody::free && known->generation > row.generation) {
      office_.errands.post([this, slab = *known] { report_freed(slab); });
    }
  }
}

// Put up while the coordinator was away, or by a call whose reply was lost.
void Lender::offer_missing(const wire::Snapshot& snapshot,
                           const std::vector<lending::SlabStatus>& ours) {
  std::vector<ledger::OfferedSlab> missing;
  for (const lending::SlabStatus& slab : ours) {
    const bool known =
        std::any_of(snapshot.own.begin(), snapshot.own.end(),
                    [&](const ledger::Slab& row) { return row.id.index == slab.index; });
    const auto offer = to_offer(slab);
    if (!known && offer) missing.push_back(*offer);
  }
  if (missing.empty()) return;
  office_.errands.post([this, missing = std::move(missing)] {
    (void)office_.coordinator->offer(missing);  // unavailable: the next session brings a snapshot
  });
}

// A row of a slab that we took home while the coordinator was away.
void Lender::forget_row(const ledger::Slab& row) {
  office_.errands.post([this, row] {
    if (ledger::is_held(row.state)) {
      const std::array<wire::Scrub, 1> scrub{
          wire::Scrub{row.id.index, row.generation, random_id<LeaseTag>()}};
      if (!office_.coordinator->scrubbed(scrub).ok()) return;
    }
    const std::array<std::uint32_t, 1> index{row.id.index};
    (void)office_.coordinator->withdraw(index);  // not_found: it went with the scrub
  });
}

void Lender::close() {
  std::vector<std::uint32_t> free;
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (slab.custody == lending::Custody::free) free.push_back(slab.index);
  }
  if (office_.coordinator != nullptr && !free.empty()) {
    for (const std::uint32_t index : free) {
      const std::array<std::uint32_t, 1> one{index};
      (void)office_.coordinator->withdraw(
          one);  // granted meanwhile, or away: the lifeline's end settles it
    }
  }
}

}  // namespace aqua::runtime
