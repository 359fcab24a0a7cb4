// SPDX-License-Identifier: Apache-2.0
// What a client learns from the coordinator: events, or a snapshot where events were missed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "ledger/ledger.hpp"
#include "wire/codec.hpp"

namespace aqua::wire {

// A lease of the client that asks, with the secret that fetches it.
struct Held {
  ledger::Grant grant;
  ledger::SlabState state = ledger::SlabState::leased;  // leased, suspect, revoking or orphaned
  std::uint64_t reclaim = 0;                            // the reclaim that wants it back; 0: none
  ledger::Time deadline{};                              // of that reclaim
};

// Everything that concerns one client, as of event `last_event`.
struct Snapshot {
  Epoch epoch;
  std::uint64_t last_event = 0;
  std::vector<ledger::Slab> own;          // put up by the client; their secrets are left out
  std::vector<Held> held;                 // leased by the client
  std::vector<ledger::Reclaim> reclaims;  // asked for by the client
};

// Exactly one of the two: a snapshot when the client asked for none in particular, or for
// events that are forgotten.
struct WatchReply {
  Epoch epoch;
  std::uint64_t last_event = 0;  // watch from here next
  std::vector<ledger::Event> events;
  std::optional<Snapshot> snapshot;
};

}  // namespace aqua::wire
