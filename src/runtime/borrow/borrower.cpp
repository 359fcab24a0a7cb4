// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/borrower.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/socket/unix_socket.hpp"

namespace aqua::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPromotePeriod{50};  // freed tensors make room without an event
constexpr milliseconds kQuietPoll{1};       // device events cannot wake a host thread
constexpr milliseconds kProbePeriod{1000};
constexpr milliseconds kProbePatience{100};  // with a lender whose queue is full: it has stopped
constexpr std::size_t kPromotionTries = 16;

lending::SlabKey key_of(const ledger::SlabId& slab, ledger::Generation generation) {
  return {slab.producer, slab.index, generation};
}

}  // namespace

Borrower::Borrower(Services& services, const Parts& parts, const BorrowerOptions& options)
    : services_(services),
      parts_(parts),
      evacuation_(services, parts, slabs_),
      intake_(services, parts, options, slabs_, evacuation_,
              {.slabs_added = [this] { next_promotion_ = {}; }}) {}

void Borrower::on_connected() {
  intake_.on_connected();
}

void Borrower::on_snapshot(const wire::Snapshot& snapshot) {
  settle(snapshot);
  intake_.ask_soon();  // news of offers may be missing as well
}

void Borrower::settle(const wire::Snapshot& snapshot) {
  intake_.on_snapshot();
  for (const wire::Held& held : snapshot.held) {
    const auto key = key_of(held.grant.slab, held.grant.generation);
    if (slabs_.find(key) == nullptr && !intake_.is_importing(key)) {
      intake_.on_unknown_lease(key);
    } else if (held.state == ledger::SlabState::orphaned) {
      revoke(key, Clock::now());
    } else if (held.reclaim != 0) {
      revoke(key, to_clock(held.deadline));
    }
  }
}

void Borrower::on_event(const ledger::Event& event) {
  switch (event.kind) {
    case ledger::EventKind::offers_available:
      intake_.ask_soon();
      break;
    case ledger::EventKind::revoke:
      revoke(key_of(event.slab, event.generation), to_clock(event.deadline));
      break;
    case ledger::EventKind::producer_gone:
      evacuation_.revoke_all_of(event.slab.producer, Clock::now());
      break;
    default:
      break;  // the producer's
  }
}

void Borrower::revoke(const lending::SlabKey& key, Clock::time_point deadline) {
  if (BorrowedSlab* const slab = slabs_.find(key)) {
    evacuation_.revoke(*slab, deadline);
  } else {
    intake_.on_unknown_revoked(key, deadline);
  }
}

Clock::time_point Borrower::step(Clock::time_point now) {
  poll_migrator(now);
  evacuation_.step(now);
  promote(now);
  intake_.step(now);
  probe_exporters(now);
  if (!parts_.migrator.copying()) return next_time(now);
  // A device event cannot wake a host thread, and the next copy must follow without a gap: a copy
  // that is soon complete is waited for. One that is not may wait for work of the engine's.
  return parts_.migrator.wait_next(kQuietPoll) ? now : Clock::now() + kQuietPoll;
}

void Borrower::poll_migrator(Clock::time_point now) {
  parts_.migrator.poll(evacuation_.pressing(now));
  const MutexLock lock(mu_);
  migrated_ = parts_.migrator.stats();
}

Clock::time_point Borrower::next_time(Clock::time_point now) const {
  if (slabs_.any_leaving()) return now + kQuietPoll;
  return std::min({next_promotion_, intake_.next_time(), next_probe_});
}

void Borrower::promote(Clock::time_point now) {
  if (slabs_.any_leaving() || now < next_promotion_ || !parts_.migrator.has_room()) return;
  std::size_t failures = 0;
  bool room = true;
  for (const auto& tensor : parts_.table.to_promote()) {
    room = parts_.migrator.has_room();
    if (!room || failures >= kPromotionTries) break;
    auto place = parts_.table.place_away(tensor);
    if (!place.ok()) {
      ++failures;
      continue;
    }
    // Refused when the tensor is in use or gone: tried another time.
    (void)parts_.migrator.start(tensor, std::move(place).value());
  }
  // With more to move, go on as soon as the window has room.
  next_promotion_ = room ? now + kPromotePeriod : now;
}

// Looks whether each exporter is there: a connection to it stands, or somebody listens at its
// socket. A producer may die while there is no coordinator to say so.
void Borrower::probe_exporters(Clock::time_point now) {
  if (now < next_probe_) return;
  next_probe_ = now + kProbePeriod;
  if (std::exchange(probing_, true)) return;
  std::map<std::string, ClientId> exporters;
  for (const auto& [key, slab] : slabs_) {
    if (!slab.leaving) exporters.emplace(slab.exchange, key.producer);
  }
  services_.coordinator_calls.post([this, exporters = std::move(exporters)] {
    const auto connected = parts_.importer.forget_ended();
    for (const auto& [exchange, producer] : exporters) {
      if (connected.contains(exchange)) continue;
      const auto socket = connect_seqpacket(exchange, kProbePatience);
      if (socket.ok() || socket.error().code != Code::unavailable) continue;
      services_.loop.post(
          [this, gone = producer] { evacuation_.revoke_all_of(gone, Clock::now()); });
    }
    services_.loop.post([this] { probing_ = false; });
  });
}

void Borrower::close() {
  parts_.migrator.abandon_promotions();
  parts_.table.deferred().drain();
  std::vector<wire::Return> returns;
  for (const lending::ImportedSlab& imported : parts_.importer.all()) {
    const BorrowedSlab* const slab = slabs_.find(imported.key);
    // In use still: a tensor outlives the runtime, which is its owner's bug.
    if (slab != nullptr && !parts_.space.slab_empty(imported.offset, imported.bytes)) continue;
    (void)parts_.importer.give_back(imported.key);      // an exporter that is gone needs no telling
    if (parts_.importer.holds(imported.key)) continue;  // could not be unmapped
    returns.push_back({{imported.key.producer, imported.key.index}, imported.key.generation});
  }
  if (services_.coordinator != nullptr && !returns.empty()) {
    (void)services_.coordinator->give_back(returns);  // away: the lifeline's end settles it
  }
}

tensor::MigratorStats Borrower::migrated() const {
  const MutexLock lock(mu_);
  return migrated_;
}

}  // namespace aqua::runtime
