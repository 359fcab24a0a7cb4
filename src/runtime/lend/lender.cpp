// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/lender.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "runtime/second_look.hpp"

namespace aqua::runtime {

void Lender::lend(std::vector<std::unique_ptr<device::Slab>> slabs, SlabReceiver receiver) {
  for (const auto& slab : slabs) lent_.expect(slab->bytes());
  // std::function wants copyable captures.
  auto shared = std::make_shared<std::vector<std::unique_ptr<device::Slab>>>(std::move(slabs));
  services_.coordinator_calls.post(
      [this, shared, receiver = std::move(receiver)] { put_up(std::move(*shared), receiver); });
}

void Lender::put_up(std::vector<std::unique_ptr<device::Slab>> slabs,
                    const SlabReceiver& receiver) {
  const auto indexes = lent_.put_up(std::move(slabs), receiver);
  if (!indexes.ok()) {
    services_.log(LogLevel::error, concat("lend: ", indexes.error().message));
    return services_.budget_changed(BudgetReason::reclaimed);
  }
  if (services_.coordinator != nullptr) offer_or_look_again(*indexes);
  services_.budget_changed(BudgetReason::offered);
}

void Lender::offer_or_look_again(std::span<const std::uint32_t> indexes) {
  if (const auto told = offer(indexes); !told.ok()) failed("offer", told.error());
}

// The next session begins with a snapshot. Within a session nothing else would tell the coordinator
// what it has not heard, and slabs that nobody holds would be lent to nobody.
void Lender::failed(const char* what, const Error& error) {
  if (services_.coordinator->connected()) {
    services_.log(LogLevel::warning, concat(what, ": ", error.message, "; told again in a moment"));
  }
  services_.look_again(Clock::now() + SecondLook::kAfterFailure);
}

Result<void> Lender::offer(std::span<const std::uint32_t> indexes) {
  std::vector<std::uint32_t> wanted(indexes.begin(), indexes.end());
  std::ranges::sort(wanted);
  const MutexLock lock(offering_);
  return offer_slabs([&](const lending::SlabStatus& slab) {
    return std::ranges::binary_search(wanted, slab.index);
  });
}

void Lender::declare(const southbound::Session& session) {
  const MutexLock lock(offering_);
  session_ = session.number;
  if (!session.new_epoch) return;
  lent_.exporter().renew_free();
  auto told = offer_slabs([](const lending::SlabStatus&) { return true; });
  if (!told.ok()) services_.log(LogLevel::warning, concat("declare: ", told.error().message));
}

// Leaves out what is being scrubbed: that is reported when it is done.
template <typename Wanted>
Result<void> Lender::offer_slabs(const Wanted& wanted) {
  std::vector<ledger::OfferedSlab> offers;
  for (const lending::SlabStatus& slab : lent_.exporter().status()) {
    if (slab.custody == lending::Custody::scrubbing || !wanted(slab)) continue;
    offers.push_back({slab.index, slab.bytes, slab.generation, slab.secret, slab.holder});
  }
  if (offers.empty()) return {};
  return services_.coordinator->offer(offers, session_);
}

void Lender::on_connected(const southbound::Session& session) {
  reclaims_.on_connected(session.new_epoch);
}

void Lender::on_freed(const lending::SlabStatus& slab) {
  // The queue drops what comes after it was stopped, when the coordinator's client may be gone.
  if (!freed_.add({slab.index, slab.generation - 1, slab.secret})) return;
  services_.coordinator_calls.post([this] {
    const auto freed = freed_.take();
    if (services_.coordinator != nullptr && services_.coordinator->connected()) {
      report_freed(freed);
    } else {
      // A reclaim may want it now; else it is declared when there is a coordinator.
      services_.loop.nudge();
    }
  });
}

// On the coordinator_calls queue.
void Lender::report_freed(std::span<const wire::Scrub> freed) {
  const auto told = services_.coordinator->scrubbed(freed);
  if (!told.ok()) return failed("scrubbed", told.error());
  std::vector<std::uint32_t> returned, unknown;
  for (std::size_t i = 0; i < freed.size(); ++i) {
    const auto& state = (*told)[i];
    if (state.ok() && *state == ledger::SlabState::returned) returned.push_back(freed[i].index);
    if (!state.ok() && state.error().code == Code::not_found) unknown.push_back(freed[i].index);
  }
  lent_.take_back(returned);
  if (!unknown.empty()) offer_or_look_again(unknown);
}

void Lender::on_event(const ledger::Event& event) {
  using Kind = ledger::EventKind;
  if (event.kind == Kind::returned || event.kind == Kind::holder_dead) {
    if (!lent_.exporter().knows(event.slab.index)) {  // taken back while it was being offered
      ledger::Slab row;
      row.id = event.slab;
      row.generation = event.generation;
      row.state = ledger::SlabState::quarantined;
      return forget_row(row);
    }
    lent_.exporter().grant_ended(
        event.slab.index, event.generation,
        event.kind == Kind::returned ? lending::GrantEnd::returned : lending::GrantEnd::died);
  } else if (event.kind == Kind::withdrawn) {  // by an operator; nobody holds it
    lent_.take_back({&event.slab.index, 1});
  } else if (event.kind == Kind::reclaim_done) {
    reclaims_.on_ended(event.reclaim);
  }
}

// Brings the coordinator's rows and the exporter's book together. The exporter is right: it has
// seen what was fetched, given back and scrubbed.
void Lender::on_snapshot(const wire::Snapshot& snapshot) {
  const auto ours = lent_.exporter().status();
  offer_missing(snapshot, ours);
  for (const ledger::Slab& row : snapshot.own) {
    const auto known =
        std::ranges::lower_bound(ours, row.id.index, {}, &lending::SlabStatus::index);
    if (known == ours.end() || known->index != row.id.index) {
      forget_row(row);
    } else if (row.state == ledger::SlabState::quarantined) {
      if (known->generation > row.generation) {
        on_freed(*known);  // its report was lost
      } else {
        lent_.exporter().grant_ended(row.id.index, row.generation, lending::GrantEnd::unknown);
      }
    } else if (known->custody == lending::Custody::free && known->generation > row.generation) {
      on_freed(*known);
    }
  }
}

// Offers what was put up while the coordinator was away, or by a call whose reply was lost.
void Lender::offer_missing(const wire::Snapshot& snapshot,
                           std::span<const lending::SlabStatus> ours) {
  std::vector<std::uint32_t> known;
  for (const ledger::Slab& row : snapshot.own) known.push_back(row.id.index);
  std::ranges::sort(known);
  std::vector<std::uint32_t> missing;
  for (const lending::SlabStatus& slab : ours) {
    if (!std::ranges::binary_search(known, slab.index)) missing.push_back(slab.index);
  }
  if (missing.empty()) return;
  // It may be what a reclaim has withdrawn.
  if (reclaims_.any_unanswered())
    return services_.look_again(Clock::now() + SecondLook::kAfterFailure);
  services_.coordinator_calls.post(
      [this, missing = std::move(missing)] { offer_or_look_again(missing); });
}

// Ends the row of a slab that was taken back while the coordinator was away.
void Lender::forget_row(const ledger::Slab& row) {
  services_.coordinator_calls.post([this, row] {
    if (ledger::is_held(row.state)) {
      const std::array<wire::Scrub, 1> scrub{
          wire::Scrub{row.id.index, row.generation, random_id<LeaseTag>()}};
      if (const auto told = services_.coordinator->scrubbed(scrub); !told.ok())
        return failed("scrubbed", told.error());
    }
    // not_found: it went with the scrub
    (void)services_.coordinator->withdraw({&row.id.index, 1});
  });
}

void Lender::close() {
  reclaims_.close();
  if (services_.coordinator == nullptr) return;
  std::vector<std::uint32_t> free;
  for (const lending::SlabStatus& slab : lent_.exporter().status()) {
    if (slab.custody == lending::Custody::free) free.push_back(slab.index);
  }
  // All are refused for one that was granted meanwhile: then each is told by itself. The lifeline's
  // end settles one that is refused so, and all where nobody answers.
  auto told = services_.coordinator->withdraw(free);
  if (told.ok()) return;
  for (const std::uint32_t& index : free) {
    if (!told.ok() && told.error().code == Code::unavailable) return;
    told = services_.coordinator->withdraw({&index, 1});
  }
}

}  // namespace aqua::runtime
