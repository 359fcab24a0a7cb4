// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/borrower.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"

namespace aqua::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPromotePeriod{
    50};                               // room may have come from freed tensors, which make no event
constexpr milliseconds kQuietPoll{1};  // device events cannot wake a host thread
constexpr std::size_t kPromotionTries = 16;

lending::SlabKey key_of(const ledger::SlabId& slab, ledger::Generation generation) {
  return {slab.producer, slab.index, generation};
}

}  // namespace

Borrower::Borrower(Office& office, const Parts& parts, const BorrowerOptions& options)
    : office_(office), parts_(parts), options_(options) {}

void Borrower::on_connected() {
  refusals_.reset();
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
  return std::min({next_promotion_, std::max(next_ask_, refusals_.until()), next_probe_});
}

void Borrower::report_lost() {
  for (const auto& tensor : parts_.migrator.take_lost()) {
    (void)tensor->lose();
    office_.log(LogLevel::error,
                concat("tensor ", tensor->id(), " '", tensor->options().name, "': data_loss"));
    if (const auto& callback = parts_.callbacks.on_data_loss) {
      office_.callbacks.post(
          [callback, tensor] { callback(tensor->id(), tensor->options().name); });
    }
    tell_budget(BudgetReason::lost);
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

void Borrower::close() {
  parts_.migrator.abandon_promotions();
  parts_.table.deferred().drain();
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

// What the callback reads is what has changed, not what the step before left.
void Borrower::tell_budget(BudgetReason reason) {
  publish();
  office_.budget_changed(reason);
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
