// SPDX-License-Identifier: Apache-2.0
// Borrower: how it comes by slabs: asks, imports, and what was revoked meanwhile.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/concat.hpp"
#include "base/unix_socket.hpp"
#include "runtime/borrow/borrower.hpp"

namespace aqua::runtime {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAskAgain{1000};  // when nothing was granted and no event says otherwise
constexpr milliseconds kProbePeriod{1000};

lending::LeasedSlab to_lease(const ledger::Grant& grant) {
  return {{grant.slab.producer, grant.slab.index, grant.generation},
          grant.bytes,
          grant.secret,
          grant.exchange};
}

}  // namespace

void Borrower::ask_for_more(Clock::time_point now) {
  if (office_.coordinator == nullptr || asking_ || now < std::max(next_ask_, refusals_.until()) ||
      options_.max_bytes == 0)
    return;
  next_ask_ = now + kAskAgain;
  std::size_t have = importing_bytes_;
  for (const auto& [key, slab] : slabs_) have += slab.bytes;
  if (have >= options_.max_bytes || !office_.coordinator->connected()) return;
  asking_ = true;
  office_.errands.post([this, wanted = options_.max_bytes - have] {
    auto grants = office_.coordinator->lease(wanted, options_.exit_bytes);
    office_.loop.post([this, grants = std::move(grants)] { on_answered(grants); });
  });
}

void Borrower::on_answered(const Result<std::vector<ledger::Grant>>& grants) {
  asking_ = false;
  if (look_again_) look_again();
  if (!grants.ok()) {  // nothing to be had: an event or the timer asks again
    tell_refusal(grants.error());
    return settle_early();
  }
  std::map<std::string, std::vector<lending::LeasedSlab>> by_exporter;
  for (const ledger::Grant& grant : *grants) {
    const lending::LeasedSlab lease = to_lease(grant);
    importing_.insert(lease.key);
    importing_bytes_ += lease.bytes;
    auto& batch = by_exporter[lease.exchange];
    batch.push_back(lease);
    if (batch.size() == lending::kMaxExchangeEntries) import(std::exchange(batch, {}));
  }
  settle_early();
  for (auto& [exchange, batch] : by_exporter) {
    if (!batch.empty()) import(std::move(batch));
  }
}

void Borrower::tell_refusal(const Error& refusal) {
  if (refusal.code != Code::failed_precondition || !slabs_.empty() || refusal.message == refusal_)
    return;
  refusal_ = refusal.message;
  office_.log(LogLevel::warning,
              concat("nothing borrowed: ", refusal_, " (host_bytes is ", options_.exit_bytes, ")"));
}

// All from one exporter.
void Borrower::import(std::vector<lending::LeasedSlab> batch) {
  office_.errands.post([this, batch = std::move(batch)] {
    auto imported = parts_.importer.import(batch);
    office_.loop.post([this, batch, imported = std::move(imported)] { take(batch, imported); });
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
    return tell_unusable(imported.error());
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
  tell_budget(BudgetReason::granted);
}

void Borrower::tell_unusable(const Error& refusal) {
  const auto wait = refusals_.refused(refusal.code, Clock::now());
  if (wait.count() == 0) return office_.log(LogLevel::warning, concat("import: ", refusal.message));
  office_.log(LogLevel::error, concat("import: ", refusal.message,
                                      "; nothing more is borrowed for ", wait.count(), " s"));
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

}  // namespace aqua::runtime
