// SPDX-License-Identifier: Apache-2.0
// Views of the ledger as messages.
#pragma once

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/events.hpp"
#include "wire/state.hpp"

namespace aqua::coordinator {

// What concerns one client.
[[nodiscard]] wire::Snapshot snapshot_of(const ledger::Ledger& ledger, const ClientId& client,
                                         const Epoch& epoch);
// Everything.
[[nodiscard]] wire::State state_of(const ledger::Ledger& ledger, const Epoch& epoch);

}  // namespace aqua::coordinator
