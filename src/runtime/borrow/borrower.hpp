// SPDX-License-Identifier: Apache-2.0
// Borrower is the consumer's half of the runtime: it leases slabs ahead of need, takes
// tensors off those that are wanted back, returns them one by one, and moves tensors up
// again when there is room.
//
// Threads: on_* and step() on the control loop only; status() from any thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lending/importer.hpp"
#include "runtime/borrow/refused_imports.hpp"
#include "runtime/office.hpp"
#include "tensor/migrator.hpp"
#include "tensor/table.hpp"

namespace aqua::runtime {

struct BorrowerOptions {
  std::size_t max_bytes = 0;   // the most to lease
  std::size_t exit_bytes = 0;  // reserved below: leases never exceed it (design rule 7)
};

class Borrower {
 public:
  // All parts outlive the borrower.
  struct Parts {
    lending::Importer& importer;
    tensor::Space& space;  // over the importer's arena
    tensor::TensorTable& table;
    tensor::Migrator& migrator;
    const Callbacks& callbacks;
  };
  Borrower(Office& office, const Parts& parts, const BorrowerOptions& options);

  void on_connected();
  void on_snapshot(const wire::Snapshot& snapshot);
  void on_event(const ledger::Event& event);
  // Takes what steps it can; returns when it wants to be called again at the latest.
  [[nodiscard]] Clock::time_point step(Clock::time_point now);
  // Gives back every slab that no tensor is in. After the loop and the errands have stopped.
  void close();

  [[nodiscard]] std::size_t leased_bytes() const;
  [[nodiscard]] tensor::MigratorStats migrated() const;

 private:
  // Says once why there is nothing, where that will not pass by itself.
  void tell_refusal(const Error& refusal);

  struct Leased {
    std::size_t bytes = 0;
    std::size_t offset = 0;
    std::string exchange;
    bool leaving = false;
    Clock::time_point asked{};     // when it was revoked …
    Clock::time_point deadline{};  // … and until when it is wanted
    bool told = false;             // owners of pins were called
  };

  void revoke(const lending::SlabKey& key, Clock::time_point deadline);
  void start_evacuations(Clock::time_point now);
  void evacuate(const Leased& slab);
  void finish_leaving();
  void tell_pin_owners(Clock::time_point now);
  void report_lost();
  void promote(Clock::time_point now);
  void ask_for_more(Clock::time_point now);
  void on_answered(const Result<std::vector<ledger::Grant>>& grants);
  void import(std::vector<lending::LeasedSlab> batch);
  void take(const std::vector<lending::LeasedSlab>& grants,
            Result<std::vector<lending::ImportedSlab>> imported);
  void tell_unusable(const Error& refusal);
  void settle_early();
  void look_again();
  void probe_exporters(Clock::time_point now);
  void producer_gone(const ClientId& producer);
  void hand_back(const lending::SlabKey& key);
  void tell_returned(const lending::SlabKey& key);
  [[nodiscard]] bool any_leaving() const;
  [[nodiscard]] bool pressing(Clock::time_point now) const;
  [[nodiscard]] Clock::time_point next_time(Clock::time_point now) const;
  void publish();
  void tell_budget(BudgetReason reason);

  Office& office_;
  Parts parts_;
  const BorrowerOptions options_;

  // The control loop's.
  std::map<lending::SlabKey, Leased> slabs_;
  std::set<lending::SlabKey> importing_;
  std::map<lending::SlabKey, Clock::time_point>
      revoked_early_;  // the revocation overtook the import
  std::size_t importing_bytes_ = 0;
  bool asking_ = false;      // a lease call is under way
  std::string refusal_;      // the last that was told
  bool look_again_ = false;  // its reply may explain a snapshot that we did not understand
  Clock::time_point next_ask_{};
  RefusedImports refusals_;
  Clock::time_point next_promotion_{};
  Clock::time_point next_probe_{};

  mutable Mutex mu_;
  std::size_t published_bytes_ AQUA_GUARDED_BY(mu_) = 0;
  tensor::MigratorStats published_stats_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::runtime
