#include "runtime/borrower.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "base/unix_socket.hpp"

namespace aqua::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskAgain{1000};  // when nothing was granted and no event says otherwise
constexpr milliseconds kPromotePeriod{
    50};  // room may have come from freed tensors, which make no event
constexpr milliseconds kProbePeriod{1000};
constexpr milliseconds kQuietPoll{1};  // device events cannot wake a host thread
constexpr std::size_t kPromotionTries = 16;

lending::SlabKey key_of(const ledger::SlabId& slab, ledger::Generation generation) {
  return {slab.producer, slab.index, generation};
}

lending::LeasedSlab to_lease(const ledger::Grant& grant) {
  return {key_of(grant.slab, grant.generation), grant.bytes, grant.secret, grant.exchange};
}

}  // namespace

Borrower::Borrower(Office& office, const Parts& parts, const BorrowerOptions& options)
    : office_(office), parts_(parts), options_(options) {}

void Borrower::on_connected() {
  next_ask_ = {};
}

void Borrower::on_snapshot(const wire::Snapshot& snapshot) {
  for (const wire::Held& held : snapshot.held) {
    const auto key = key_of(held.grant.slab, held.grant.generation);
    if (!slabs_.contains(key) && !importing_.contains(key)) {
      // Granted by a reply that was lost, unless that reply is still on its way: a slab that
      // we are about to map must not be called returned.
      if (asking_) {
        look_again_ = true;
      } else {
        tell_returned(key);
      }
    } else if (held.state == ledger::SlabState::orphaned) {
      revoke(key, Clock::now());
    } else if (held.reclaim != 0) {
      revoke(key, to_clock(held.deadline));
    }
  }
  next_ask_ = {};
}

void Borrower::on_event(const ledger::Event& event) {
  const auto key = key_of(event.slab, event.generation);
  switch (event.kind) {
    case ledger::EventKind::offers_available:
      next_ask_ = {};
      break;
    case ledger::EventKind::revoke:
      revoke(key, to_clock(event.deadline));
      break;
    case ledger::EventKind::producer_gone:
      producer_gone(event.slab.producer);
      break;
    default:
      break;  // the producer's
  }
}

void Borrower::revoke(const lending::SlabKey& key, Clock::time_point deadline) {
  const auto found = slabs_.find(key);
  if (found == slabs_.end()) {
    if (asking_ || importing_.contains(key)) {
      revoked_early_.emplace(key, deadline);
    } else {
      tell_returned(key);  // we do not have it
    }
    return;
  }
  Leased& slab = found->second;
  slab.deadline = deadline;
  if (slab.leaving) return;
  slab.leaving = true;
  slab.asked = Clock::now();
  if (auto retired = parts_.space.retire_slab(slab.offset, slab.bytes); !retired.ok()) {
    office_.log(LogLevel::error, retired.error().message);
  }
  parts_.migrator.abandon_promotions();
}

void Borrower::producer_gone(const ClientId& producer) {
  for (const auto& [key, slab] : slabs_) {
    if (key.producer == producer) revoke(key, Clock::now());
  }
}

Clock::time_point Borrower::step(Clock::time_point now) {
  parts_.migrator.poll(pressing(now));
  report_lost();
  start_evacuations(now);
  finish_leaving();
  tell_pin_owners(now);
  promote(now);
  ask_for_more(now);
  probe_exporters(now);
  publish();
  return next_time(now);
}

Clock::time_point Borrower::next_time(Clock::time_point now) const {
  if (parts_.migrator.copying()) {
    parts_.migrator.wait_next();
    return now;
  }
  if (any_leaving()) return now + kQuietPoll;
  return std::min({next_promotion_, next_ask_, next_probe_});
}

bool Borrower::any_leaving() const {
  return std::any_of(slabs_.begin(), slabs_.end(),
                     [](const auto& slab) { return slab.second.leaving; });
}

// Writers may be made to wait once three quarters of the time are gone.
bool Borrower::pressing(Clock::time_point now) const {
  return std::any_of(slabs_.begin(), slabs_.end(), [&](const auto& entry) {
    const Leased& slab = entry.second;
    return slab.leaving && now >= slab.deadline - (slab.deadline - slab.asked) / 4;
  });
}

void Borrower::start_evacuations(Clock::time_point) {
  // The tightest deadline first, and one slab after the other: each that is done can go.
  std::vector<const Leased*> leaving;
  for (const auto& [key, slab] : slabs_) {
    if (slab.leaving) leaving.push_back(&slab);
  }
  std::stable_sort(leaving.begin(), leaving.end(),
                   [](const Leased* a, const Leased* b) { return a->deadline < b->deadline; });
  for (const Leased* slab : leaving) evacuate(*slab);
}

void Borrower::evacuate(const Leased& slab) {
  if (!parts_.migrator.has_room()) return;
  for (const auto& tensor : parts_.space.tensors_in(slab.offset, slab.bytes)) {
    if (!parts_.migrator.has_room()) return;
    if (!parts_.table.ensure_home(*tensor)) {
      tensor->lose();  // discardable, and no room: its owner is told
      if (const auto& callback = parts_.callbacks.on_data_loss) {
        office_.callbacks.post(
            [callback, tensor] { callback(tensor->id(), tensor->options().name); });
      }
      continue;
    }
    const auto started = parts_.migrator.start(tensor, nullptr);
    // Moving already, just freed, or draining: it is looked at again in the next step.
    if (!started.ok() && started.error().code != Code::failed_precondition &&
        started.error().code != Code::not_found) {
      office_.log(LogLevel::error, started.error().message);
    }
  }
}

void Borrower::finish_leaving() {
  parts_.table.limbo().collect();  // always, or freed tensors would fill the lent memory
  if (!any_leaving()) return;
  for (auto it = slabs_.begin(); it != slabs_.end();) {
    const auto& [key, slab] = *it;
    if (!slab.leaving || !parts_.space.slab_empty(slab.offset, slab.bytes)) {
      ++it;
      continue;
    }
    if (auto removed = parts_.space.remove_slab(slab.offset, slab.bytes); !removed.ok()) {
      office_.log(LogLevel::error, removed.error().message);
      ++it;
      continue;
    }
    hand_back(key);
    it = slabs_.erase(it);
    office_.budget_changed(BudgetReason::revoked);
  }
}

// Unmaps, tells the exporter (which may be gone), then the coordinator.
void Borrower::hand_back(const lending::SlabKey& key) {
  office_.returns.post([this, key] {
    const auto given = parts_.importer.give_back(key);
    if (!given.ok() && given.error().code != Code::unavailable) {
      office_.log(LogLevel::error, given.error().message);
    }
    tell_returned(key);
  });
}

// The exporter has been told already; the ledger then names the right holders, and rows of
// a dead exporter end. Its refusal is no news: the exporter's own report may come first.
void Borrower::tell_returned(const lending::SlabKey& key) {
  if (office_.coordinator == nullptr) return;
  office_.errands.post([this, key] {
    const std::array<wire::Return, 1> one{wire::Return{{key.producer, key.index}, key.generation}};
    (void)office_.coordinator->give_back(one);  // unavailable: the next snapshot settles it
  });
}

void Borrower::tell_pin_owners(Clock::time_point now) {
  if (!parts_.callbacks.on_pins_wanted) return;
  for (auto& [key, slab] : slabs_) {
    if (!slab.leaving || slab.told || parts_.migrator.copying()) continue;
    std::vector<PinnedTensor> pinned;
    for (const auto& tensor : parts_.space.tensors_in(slab.offset, slab.bytes)) {
      const auto pins = tensor->pins();
      if (pins.readers + pins.writers == 0) continue;
      pinned.push_back({tensor->id(), tensor->options().name, pins.readers, pins.writers,
                        std::chrono::duration_cast<milliseconds>(now - pins.since)});
    }
    if (pinned.empty()) continue;
    slab.told = true;
    office_.callbacks.post([callback = parts_.callbacks.on_pins_wanted, pinned,
                            deadline = slab.deadline] { callback(pinned, deadline); });
  }
}

void Borrower::report_lost() {
  for (const auto& tensor : parts_.migrator.take_lost()) {
    tensor->lose();
    office_.log(LogLevel::error,
                concat("tensor ", tensor->id(), " '", tensor->options().name, "': data_loss"));
    if (const auto& callback = parts_.callbacks.on_data_loss) {
      office_.callbacks.post(
          [callback, tensor] { callback(tensor->id(), tensor->options().name); });
    }
    office_.budget_changed(BudgetReason::lost);
  }
}

void Borrower::promote(Clock::time_point now) {
  if (any_leaving() || now < next_promotion_ || !parts_.migrator.has_room()) return;
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
    (void)parts_.migrator.start(tensor,
                                std::move(place).value());  // in use or gone: some other time
  }
  // With more to move, go on as soon as the window has room.
  next_promotion_ = room ? now + kPromotePeriod : now;
}

void Borrower::ask_for_more(Clock::time_point now) {
  if (office_.coordinator == nullptr || asking_ || now < next_ask_ || options_.max_bytes == 0)
    return;
  next_ask_ = now + kAskAgain;
  std::size_t have = importing_bytes_;
  for (const auto& [key, slab] : slabs_) have += slab.bytes;
  if (have >= options_.max_bytes || !office_.coordinator->connected()) return;
  asking_ = true;
  office_.errands.post([this, wanted = options_.max_bytes - have] {
    auto grants = office_.coordinator->lease(wanted, options_.exit_bytes);
    office_.loop.post([this, grants = std::move(grants)] {
      asking_ = false;
      if (look_again_) look_again();
      if (!grants.ok())
        return settle_early();  // nothing to be had: an event or the timer asks again
      std::map<std::string, std::vector<lending::LeasedSlab>> by_exporter;
      for (const ledger::Grant& grant : *grants) {
        const lending::LeasedSlab lease = to_lease(grant);
        importing_.insert(lease.key);
        importing_bytes_ += lease.bytes;
        by_exporter[lease.exchange].push_back(lease);
      }
      settle_early();
      for (const auto& [exchange, leases] : by_exporter) {
        for (std::size_t first = 0; first < leases.size(); first += lending::kMaxExchangeEntries) {
          const std::size_t last = std::min(leases.size(), first + lending::kMaxExchangeEntries);
          std::vector<lending::LeasedSlab> batch(
              leases.begin() + static_cast<std::ptrdiff_t>(first),
              leases.begin() + static_cast<std::ptrdiff_t>(last));
          office_.errands.post([this, batch = std::move(batch)] {
            auto imported = parts_.importer.import(batch);
            office_.loop.post(
                [this, batch, imported = std::move(imported)] { take(batch, imported); });
          });
        }
      }
    });
  });
}

// Revocations of slabs that we turn out not to have been granted.
void Borrower::settle_early() {
  std::erase_if(revoked_early_, [this](const auto& early) {
    if (importing_.contains(early.first)) return false;
    tell_returned(early.first);
    return true;
  });
}

void Borrower::look_again() {
  look_again_ = false;
  office_.errands.post([this] {
    auto snapshot = office_.coordinator->snapshot();
    if (!snapshot.ok()) return;  // a new session brings one
    office_.loop.post([this, snapshot = std::move(snapshot).value()] { on_snapshot(snapshot); });
  });
}

void Borrower::take(const std::vector<lending::LeasedSlab>& grants,
                    Result<std::vector<lending::ImportedSlab>> imported) {
  for (const lending::LeasedSlab& grant : grants) {
    importing_.erase(grant.key);
    importing_bytes_ -= grant.bytes;
    if (imported.ok()) continue;
    revoked_early_.erase(grant.key);
    tell_returned(grant.key);
  }
  if (!imported.ok()) {
    office_.log(LogLevel::warning, concat("import: ", imported.error().message));
    return;
  }
  for (const lending::ImportedSlab& slab : *imported) {
    if (auto added = parts_.space.add_slab(slab.offset, slab.bytes); !added.ok()) {
      office_.log(LogLevel::error, added.error().message);
      (void)parts_.importer.give_back(slab.key);
      tell_returned(slab.key);
      continue;
    }
    slabs_.emplace(
        slab.key,
        Leased{.bytes = slab.bytes, .offset = slab.offset, .exchange = grants.front().exchange});
    if (const auto early = revoked_early_.find(slab.key); early != revoked_early_.end()) {
      revoke(slab.key, early->second);
      revoked_early_.erase(early);
    }
  }
  next_promotion_ = {};
  office_.budget_changed(BudgetReason::granted);
}

// A producer may die while there is no coordinator to tell: nobody listens at its socket then.
void Borrower::probe_exporters(Clock::time_point now) {
  if (now < next_probe_) return;
  next_probe_ = now + kProbePeriod;
  std::map<std::string, ClientId> exporters;
  for (const auto& [key, slab] : slabs_) {
    if (!slab.leaving) exporters.emplace(slab.exchange, key.producer);
  }
  office_.errands.post([this, exporters = std::move(exporters)] {
    parts_.importer.forget_ended();
    for (const auto& [exchange, producer] : exporters) {
      const auto socket = connect_seqpacket(exchange);
      if (socket.ok() || socket.error().code != Code::unavailable) continue;
      office_.loop.post([this, gone = producer] { producer_gone(gone); });
    }
  });
}

void Borrower::close() {
  parts_.migrator.abandon_promotions();
  parts_.table.limbo().drain();
  std::vector<wire::Return> returns;
  for (const lending::ImportedSlab& slab : parts_.importer.all()) {
    // In use still: a tensor outlives the runtime, which is its owner's bug.
    if (slabs_.contains(slab.key) && !parts_.space.slab_empty(slab.offset, slab.bytes)) continue;
    (void)parts_.importer.give_back(slab.key);
    returns.push_back({{slab.key.producer, slab.key.index}, slab.key.generation});
  }
  slabs_.clear();
  if (office_.coordinator != nullptr && !returns.empty()) {
    (void)office_.coordinator->give_back(returns);
  }
}

void Borrower::publish() {
  std::size_t bytes = 0;
  for (const auto& [key, slab] : slabs_) bytes += slab.bytes;
  const MutexLock lock(mu_);
  published_bytes_ = bytes;
  published_stats_ = parts_.migrator.stats();
}

std::size_t Borrower::leased_bytes() const {
  const MutexLock lock(mu_);
  return published_bytes_;
}

tensor::MigratorStats Borrower::migrated() const {
  const MutexLock lock(mu_);
  return published_stats_;
}

}  // namespace aqua::runtime
