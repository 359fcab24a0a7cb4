// SPDX-License-Identifier: Apache-2.0
#include "runtime/borrow/lease_intake.hpp"

#include <algorithm>
#include <utility>

#include "base/concat.hpp"

namespace aqua::runtime {
namespace {

// How long to wait when nothing was granted and no event says otherwise.
constexpr std::chrono::milliseconds kAskAgain{1000};

lending::LeasedSlab to_lease(const ledger::Grant& grant) {
  return {{grant.slab.producer, grant.slab.index, grant.generation},
          grant.bytes,
          grant.secret,
          grant.exchange};
}

}  // namespace

LeaseIntake::LeaseIntake(Services& services, const BorrowerParts& parts,
                         const BorrowerOptions& options, BorrowedSlabs& slabs,
                         Evacuation& evacuation, Events events)
    : services_(services),
      parts_(parts),
      options_(options),
      slabs_(slabs),
      evacuation_(evacuation),
      events_(std::move(events)) {}

void LeaseIntake::on_connected() {
  refusals_.reset();
  question_.reset();
  ask_soon();
}

// No time at all where nothing can be asked: the loop sleeps until something wakes it, as the
// answer that is awaited does.
Clock::time_point LeaseIntake::next_time() const {
  if (services_.coordinator == nullptr || asking_ || in_doubt_ || options_.max_bytes == 0)
    return Clock::time_point::max();
  return std::max(next_ask_, refusals_.until());
}

void LeaseIntake::step(Clock::time_point now) {
  if (now < next_time()) return;
  next_ask_ = now + kAskAgain;
  const std::size_t have = importing_bytes_ + slabs_.bytes();
  if (have >= options_.max_bytes) return remember("");
  if (!services_.coordinator->connected()) return;
  asking_ = true;
  if (!question_) question_ = {.bytes = options_.max_bytes - have};
  services_.coordinator_calls.post([this, question = *question_] {
    auto grants = services_.coordinator->lease(question.bytes, options_.exit_bytes, question.key);
    services_.loop.post([this, grants = std::move(grants)] { on_answered(grants); });
  });
}

void LeaseIntake::on_answered(const Result<std::vector<ledger::Grant>>& grants) {
  asking_ = false;
  if (in_doubt_) services_.look_again(Clock::now());
  // The coordinator has no reply for the key of an internal error.
  if (grants.ok() || grants.error().code == Code::internal) question_.reset();
  if (!grants.ok()) {  // nothing to be had: an event or the timer asks again
    lease_refused(grants.error());
    return settle_early();
  }
  // One import asks one exporter, for as many slabs as a message may name.
  std::map<std::string, Batch> by_exporter;
  for (const ledger::Grant& grant : *grants) {
    const lending::LeasedSlab lease = to_lease(grant);
    importing_.insert(lease.key);
    importing_bytes_ += lease.bytes;
    Batch& batch = by_exporter[lease.exchange];
    batch.push_back(lease);
    if (batch.size() == lending::kMaxExchangeEntries) import(std::exchange(batch, {}));
  }
  settle_early();
  for (auto& [exchange, batch] : by_exporter) {
    if (!batch.empty()) import(std::move(batch));
  }
}

// Logs once why nothing is borrowed, where that will not pass by itself.
void LeaseIntake::lease_refused(const Error& refusal) {
  remember(refusal.message);
  if (refusal.code != Code::failed_precondition || slabs_.bytes() > 0 ||
      refusal.message == logged_refusal_)
    return;
  logged_refusal_ = refusal.message;
  services_.log(LogLevel::warning, concat("nothing borrowed: ", refusal.message, " (host_bytes is ",
                                          options_.exit_bytes, ")"));
}

void LeaseIntake::remember(std::string refusal) {
  const MutexLock lock(mu_);
  refusal_ = std::move(refusal);
}

void LeaseIntake::import(Batch batch) {
  services_.coordinator_calls.post([this, batch = std::move(batch)] {
    auto imported = parts_.importer.import(batch);
    services_.loop.post(
        [this, batch, imported = std::move(imported)] { on_imported(batch, imported); });
  });
}

void LeaseIntake::on_imported(const Batch& batch,
                              const Result<std::vector<lending::ImportedSlab>>& imported) {
  for (const lending::LeasedSlab& lease : batch) {
    importing_.erase(lease.key);
    importing_bytes_ -= lease.bytes;
    if (imported.ok()) continue;
    revoked_early_.erase(lease.key);
    evacuation_.report_returned(lease.key);
  }
  if (!imported.ok()) return import_refused(batch, imported.error());
  remember("");
  for (const lending::ImportedSlab& slab : *imported) add(slab, batch.front().exchange);
  events_.slabs_added();
  services_.budget_changed(BudgetReason::granted);
}

void LeaseIntake::add(const lending::ImportedSlab& slab, const std::string& exchange) {
  if (auto added = parts_.space.add_slab(slab.offset, slab.bytes); !added.ok()) {
    services_.log(LogLevel::error, added.error().message);
    (void)parts_.importer.give_back(slab.key);  // an exporter that is gone needs no telling
    evacuation_.report_returned(slab.key);
    return;
  }
  BorrowedSlab& borrowed = slabs_.add(
      slab.key, BorrowedSlab{.bytes = slab.bytes, .offset = slab.offset, .exchange = exchange});
  if (const auto early = revoked_early_.find(slab.key); early != revoked_early_.end()) {
    evacuation_.revoke(borrowed, early->second);
    revoked_early_.erase(early);
  }
}

void LeaseIntake::import_refused(const Batch& batch, const Error& refusal) {
  const auto wait = refusals_.refused(refusal.code, Clock::now());
  const std::string what = concat("import of ", batch.size(), " slabs of lender ",
                                  to_string(batch.front().key.producer), ": ", refusal.message);
  remember(what);
  if (wait.count() == 0) return services_.log(LogLevel::warning, what);
  services_.log(LogLevel::error,
                concat(what, "; nothing more is borrowed for ", wait.count(), " s"));
}

// A slab that is about to be mapped here must not be called returned.
void LeaseIntake::on_unknown_lease(const lending::SlabKey& key) {
  if (asking_) {
    in_doubt_ = true;
  } else {
    report_unknown(key);
  }
}

void LeaseIntake::on_unknown_revoked(const lending::SlabKey& key, Clock::time_point deadline) {
  if (asking_ || is_importing(key)) {
    revoked_early_.emplace(key, deadline);
  } else {
    report_unknown(key);
  }
}

// It may be what the question was granted, which must not be imported any more.
void LeaseIntake::report_unknown(const lending::SlabKey& key) {
  question_.reset();
  evacuation_.report_returned(key);
}

// Reports what was revoked while a lease call was under way that turns out not to have granted it.
void LeaseIntake::settle_early() {
  std::erase_if(revoked_early_, [this](const auto& early) {
    if (is_importing(early.first)) return false;
    report_unknown(early.first);
    return true;
  });
}

}  // namespace aqua::runtime
