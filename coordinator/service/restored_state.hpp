// SPDX-License-Identifier: Apache-2.0
// What a new life of the coordinator begins with: ledger and groups as they were written down, and
// the processes that it knew, held again by pidfds.
#pragma once

#include <map>
#include <memory>

#include "aqua/result.hpp"
#include "base/socket/peer_process.hpp"
#include "coordinator/store/store.hpp"
#include "groups/book.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

struct RestoredState {
  ledger::Ledger ledger;
  groups::Book groups;                        // what differs from the store is not committed yet
  std::map<ClientId, PeerProcess> processes;  // clients that are alive
};

// Loads the store. Clients whose process has ended meanwhile are dead in the ledger and gone from
// their groups, as are those that the ledger does not know; those that cannot be looked at (other
// namespaces) are suspect and stay so.
[[nodiscard]] Result<RestoredState> restore(Store& store, const Host& host,
                                            const ledger::Limits& limits, ledger::Time now);

}  // namespace aqua::coordinator
