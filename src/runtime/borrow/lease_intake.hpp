// SPDX-License-Identifier: Apache-2.0
// LeaseIntake comes by slabs: it asks the coordinator for leases, imports what is granted, and
// settles what the coordinator says about leases that have not arrived here.
//
//   asking -> granted: importing -> in BorrowedSlabs
//                                -> refused by the exporter: reported as returned
//
// A revocation may overtake either arrow; it is kept, and applied when the slab is there.
//
// A snapshot may cross an ask: a lease that it names and nobody here knows is either the answer
// that is still on its way, or one whose answer was lost. The two are told apart by a second look,
// and nothing is asked for before it, or the next ask would cross the look again, without end.
//
// An ask whose answer was lost may be granted later than any snapshot that looks for it: it is
// asked again under its key, which brings what it was granted.
//
// Threads: the control loop's, but for refusal(): any. Sockets are left to the coordinator_calls
// queue.
#pragma once

#include <functional>
#include <map>
#include <optional>
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

  // What the coordinator or a lender answered last; "" after a grant that was imported whole, and
  // while nothing more is wanted.
  [[nodiscard]] std::string refusal() const {
    const MutexLock lock(mu_);
    return refusal_;
  }

  [[nodiscard]] bool is_importing(const lending::SlabKey& key) const {
    return importing_.contains(key);
  }
  // A snapshot is about to be settled, lease by lease.
  void on_snapshot() { in_doubt_ = false; }
  // It names a lease of ours that is neither borrowed nor being imported.
  void on_unknown_lease(const lending::SlabKey& key);
  // A lease was revoked that is not among the borrowed slabs.
  void on_unknown_revoked(const lending::SlabKey& key, Clock::time_point deadline);

 private:
  using Batch = std::vector<lending::LeasedSlab>;
  // The same each time until it is granted.
  struct Question {
    std::size_t bytes = 0;
    std::string key = southbound::new_key();
  };

  void on_answered(const Result<std::vector<ledger::Grant>>& grants);
  void import(Batch batch);
  void on_imported(const Batch& batch, const Result<std::vector<lending::ImportedSlab>>& imported);
  void add(const lending::ImportedSlab& slab, const std::string& exchange);
  void lease_refused(const Error& refusal);
  void import_refused(const Batch& batch, const Error& refusal);
  void remember(std::string refusal);
  void settle_early();
  void report_unknown(const lending::SlabKey& key);

  Services& services_;
  const BorrowerParts parts_;
  const BorrowerOptions options_;
  BorrowedSlabs& slabs_;
  Evacuation& evacuation_;
  const Events events_;

  std::set<lending::SlabKey> importing_;
  std::size_t importing_bytes_ = 0;
  std::map<lending::SlabKey, Clock::time_point> revoked_early_;  // with their deadlines
  std::optional<Question> question_;                             // of this session
  bool asking_ = false;                                          // a lease call is under way
  bool in_doubt_ = false;       // a snapshot named what that call may have granted
  std::string logged_refusal_;  // the last refused lease that was logged
  RefusedImports refusals_;
  Clock::time_point next_ask_{};

  mutable Mutex mu_;
  std::string refusal_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::runtime
