// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/lender.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"

namespace aqua::runtime {

using std::chrono::milliseconds;

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
  std::vector<std::uint32_t> indexes;
  {
    const MutexLock lock(mu_);
    for (const lending::SlabStatus& slab : *offered) {
      homes_.emplace(slab.index, home);
      indexes.push_back(slab.index);
    }
  }
  if (office_.coordinator != nullptr) {
    const auto told = tell(indexes);
    if (!told.ok() && told.error().code != Code::unavailable) {
      office_.log(LogLevel::warning, concat("offer: ", told.error().message));
    }
  }
  office_.budget_changed(BudgetReason::offered);
}

Result<void> Lender::tell(std::span<const std::uint32_t> indexes) {
  const MutexLock lock(telling_);
  std::vector<ledger::OfferedSlab> offers;
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (std::ranges::find(indexes, slab.index) == indexes.end()) continue;
    if (auto offer = to_offer(slab)) offers.push_back(*offer);
  }
  return office_.coordinator->offer(offers, session_);
}

void Lender::declare(const southbound::Session& session) {
  const MutexLock lock(telling_);
  session_ = session.number;
  if (!session.new_epoch) return;
  exporter_->renew_free();
  std::vector<ledger::OfferedSlab> offers;
  for (const lending::SlabStatus& slab : exporter_->status()) {
    if (auto offer = to_offer(slab)) offers.push_back(*offer);
  }
  if (offers.empty()) return;
  if (auto told = office_.coordinator->offer(offers, session_); !told.ok()) {
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
    const std::array<std::uint32_t, 1> index{slab.index};
    (void)tell(index);  // unavailable: as above
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
  } else if (event.kind == Kind::withdrawn) {  // by an operator; nobody holds it
    const std::array<std::uint32_t, 1> index{event.slab.index};
    bring_home(index);
  } else if (event.kind == Kind::reclaim_done) {
    for (Pending& pending : reclaims_) {
      if (pending.ledger_id != event.reclaim || pending.state->done()) continue;
      if (Clock::now() >= pending.state->deadline())
        end_partially(pending);  // else the last slabs are on their way
    }
  }
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
                           std::span<const lending::SlabStatus> ours) {
  std::vector<std::uint32_t> missing;
  for (const lending::SlabStatus& slab : ours) {
    const bool known =
        std::any_of(snapshot.own.begin(), snapshot.own.end(),
                    [&](const ledger::Slab& row) { return row.id.index == slab.index; });
    if (!known) missing.push_back(slab.index);
  }
  if (missing.empty()) return;
  office_.errands.post([this, missing = std::move(missing)] {
    (void)tell(missing);  // unavailable: the next session brings a snapshot
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
