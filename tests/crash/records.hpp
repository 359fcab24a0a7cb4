// SPDX-License-Identifier: Apache-2.0
// What the clients of a crashing coordinator write down of their own doings, and what must
// follow from it for the ledger that was written to the disk.
//
// Threads: every method may be called concurrently.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "coordinator/store/store.hpp"
#include "ledger/types.hpp"

namespace aqua::crash_test {

using ledger::Generation;
using ledger::SlabId;

class Records {
 public:
  // --- consumers ----------------------------------------------------------------------------
  // Answered: `consumer` was granted this generation (by a reply, or found in a snapshot).
  void granted(const ClientId& consumer, const SlabId& slab, Generation generation);
  void mapped(const ClientId& consumer, const SlabId& slab);
  void unmapped(const ClientId& consumer, const SlabId& slab);
  // About to say that it gives the lease back; said, and answered.
  void returning(const SlabId& slab, Generation generation);
  void returned(const SlabId& slab, Generation generation);

  // --- producers ----------------------------------------------------------------------------
  void joining(const ClientId& producer);  // a former life's rows end with this
  // About to declare: of what was granted, only `held` lasts; the rest opens nothing any more.
  void declaring(const ClientId& producer, const std::set<std::pair<SlabId, Generation>>& held);
  void declared(const ClientId& producer);  // answered: they are all there again
  void offered(const SlabId& slab, Generation generation);
  // About to withdraw or reclaim it, or to report it as scrubbed: its row may go, or not be
  // declared, as long as it has this generation.
  void leaving(const SlabId& slab, Generation generation);
  void scrubbed(const SlabId& slab, Generation next);  // answered: offered again
  void gone(const SlabId& slab);                       // answered

  // --- both ---------------------------------------------------------------------------------
  // A coordinator that lives said, or failed to say, what it never may: `what`.
  void broken(const std::string& what);

  // --- judgement ----------------------------------------------------------------------------
  // After a death, with nobody running: what the store holds against what was answered.
  void check(const coordinator::Stored& stored);
  [[nodiscard]] std::vector<std::string> violations() const;
  struct Counts {
    std::size_t grants = 0, returns = 0, scrubs = 0, leases_checked = 0, offers_checked = 0;
  };
  [[nodiscard]] Counts counts() const;

 private:
  struct Lease {
    ClientId consumer;
    bool ending = false;  // its return is on the way, or the exporter has ended it
    bool ended = false;   // its return was answered
  };
  struct Own {
    Generation at_least = 1;
    Generation leaving = 0;  // at this generation it may be gone
    bool gone = false;
  };
  void violation(const std::string& what) AQUA_REQUIRES(mu_);

  mutable Mutex mu_;
  std::map<std::pair<SlabId, Generation>, Lease> leases_ AQUA_GUARDED_BY(mu_);
  std::map<SlabId, ClientId> mapped_ AQUA_GUARDED_BY(mu_);
  std::map<SlabId, Own> own_ AQUA_GUARDED_BY(mu_);
  std::set<ClientId> declaring_ AQUA_GUARDED_BY(mu_);
  std::vector<std::string> violations_ AQUA_GUARDED_BY(mu_);
  Counts counts_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::crash_test
