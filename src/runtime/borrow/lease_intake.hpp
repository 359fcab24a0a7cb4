// SPDX-License-Identifier: Apache-2.0
// LeaseIntake comes by slabs: it asks the coordinator for leases, imports what is granted, and
// settles what the coordinator says about leases that have not arrived here.
//
//   asking -> granted: importing -> in BorrowedSlabs
//                                -> refused by the exporter: reported as returned
//
// A revocation may overtake either arrow; it is kept, and applied when the slab is there.
//
// Threads: the control loop's. Sockets are left to the coordinator_calls queue.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/borrow/evacuation.hpp"
#include "runtime/borrow/refused_imports.hpp"

namespace aqua::runtime {

struct BorrowerOptions {
  std::size_t max_bytes = 0;  // the most to lease
  // Host memory reserved as the exit. Leases never exceed it: every leased byte can leave.
  std::size_t exit_bytes = 0;
};

class LeaseIntake {
 public:
  struct Events {
    std::function<void()> slabs_added;
    std::function<void(const wire::Snapshot&)> snapshot;  // asked for by on_unknown_lease()
  };
  // All outlive it, `evacuation` too.
  LeaseIntake(Services& services, const BorrowerParts& parts, const BorrowerOptions& options,
              BorrowedSlabs& slabs, Evacuation& evacuation, Events events);

  // Another session: producers that could not share with us may have gone.
  void on_connected();
  // Something may have been offered: asks in the next step.
  void ask_soon() { next_ask_ = {}; }
  void step(Clock::time_point now);
  [[nodiscard]] Clock::time_point next_time() const;

  [[nodiscard]] bool is_importing(const lending::SlabKey& key) const {
    return importing_.contains(key);
  }
  // A snapshot names a lease of ours that is neither borrowed nor being imported.
  void on_unknown_lease(const lending::SlabKey& key);
  // A lease was revoked that is not among the borrowed slabs.
  void on_unknown_revoked(const lending::SlabKey& key, Clock::time_point deadline);

 private:
  using Batch = std::vector<lending::LeasedSlab>;

  void on_answered(const Result<std::vector<ledger::Grant>>& grants);
  void import(Batch batch);
  void on_imported(const Batch& batch, const Result<std::vector<lending::ImportedSlab>>& imported);
  void add(const lending::ImportedSlab& slab, const std::string& exchange);
  void log_refused_lease(const Error& refusal);
  void log_refused_import(const Error& refusal);
  void settle_early();
  void ask_for_snapshot();

  Services& services_;
  const BorrowerParts parts_;
  const BorrowerOptions options_;
  BorrowedSlabs& slabs_;
  Evacuation& evacuation_;
  const Events events_;

  std::set<lending::SlabKey> importing_;
  std::size_t importing_bytes_ = 0;
  std::map<lending::SlabKey, Clock::time_point> revoked_early_;  // with their deadlines
  bool asking_ = false;                                          // a lease call is under way
  bool snapshot_due_ = false;                                    // once that call is answered
  std::string logged_refusal_;  // the last refused lease that was logged
  RefusedImports refusals_;
  Clock::time_point next_ask_{};
};

}  // namespace aqua::runtime
