// SPDX-License-Identifier: Apache-2.0
// Journal makes the coordinator's accounts out of the ledger's changes: metrics, the story of
// each slab, bytes over time, and the lines of the log.
//
// Threads: every method may be called concurrently. note() comes from under the ledger's lock;
//          readers take only the journal's own, for as long as copying takes.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "coordinator/observe/event_log.hpp"
#include "coordinator/observe/history.hpp"
#include "coordinator/observe/metrics.hpp"
#include "coordinator/observe/tally.hpp"

namespace aqua::coordinator {

class Journal {
 public:
  // `metrics` outlives this.
  explicit Journal(Metrics& metrics) : metrics_(metrics) {}

  // The accounts of a ledger begin; it may have slabs already.
  void begin(const ledger::Ledger& ledger, ledger::Time now);
  void note(const ledger::Changes& changes, const ledger::Ledger& ledger);
  // Writes changes to the log, one line for neighbours of one kind. No lock is held.
  static void log(const ledger::Changes& changes);

  [[nodiscard]] Tally tally() const;
  [[nodiscard]] std::vector<wire::Sample> samples() const;
  [[nodiscard]] std::optional<wire::SlabStory> story(const ledger::SlabId& slab) const;

 private:
  Metrics& metrics_;
  mutable Mutex mu_;
  Tally tally_ AQUA_GUARDED_BY(mu_);
  History history_ AQUA_GUARDED_BY(mu_);
  EventLog event_log_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::coordinator
