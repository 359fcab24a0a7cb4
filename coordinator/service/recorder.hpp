// SPDX-License-Identifier: Apache-2.0
// Recorder writes a ledger's changes to a store, and remembers what it could not write: facts
// (a return, a death) happen whether or not there is room on the disk.
//
// Threads: record() and fault() under the ledger's lock; sync() from any.
#pragma once

#include <memory>
#include <optional>

#include "aqua/result.hpp"
#include "coordinator/store/store.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

class Recorder {
 public:
  explicit Recorder(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  // Writes what has changed since the last record() that succeeded; nothing where nothing has.
  // The revision that holds it all. Errors as Store::commit; the next call tries again.
  Result<Revision> record(ledger::Ledger& ledger);
  // While writing fails: tries now, even where nothing has changed.
  [[nodiscard]] Result<void> catch_up(ledger::Ledger& ledger);
  [[nodiscard]] const std::optional<Error>& fault() const noexcept { return fault_; }
  // No later call will do better.
  [[nodiscard]] static bool fatal(const Error& error) noexcept {
    return error.code == Code::aborted;
  }

  [[nodiscard]] Result<void> sync(Revision revision) { return store_->sync(revision); }

 private:
  Result<Revision> write(ledger::Ledger& ledger);

  const std::shared_ptr<Store> store_;  // also the groups'
  ledger::DirtyRows unwritten_;
  std::optional<Error> fault_;
  Revision revision_ = 0;
};

}  // namespace aqua::coordinator
