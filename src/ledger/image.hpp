// SPDX-License-Identifier: Apache-2.0
// What of a ledger may be written down and read again, and which of it has changed.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ledger/types.hpp"

namespace aqua::ledger {

struct Pair {
  ClientId producer;
  ClientId consumer;
  bool is_explicit = false;  // made by Ledger::pair()
  friend bool operator==(const Pair&, const Pair&) = default;
};

// Rows without what only a life knows: times to live and who is silent. Reclaim::outstanding
// is left empty: it follows from Slab::reclaim.
struct ClientRow {
  ClientInfo info;
  bool draining = false;
};

struct Image {
  std::vector<ClientRow> clients;
  std::vector<Slab> slabs;
  std::vector<Reclaim> reclaims;
  std::vector<Pair> pairs;
};

// Names of rows that are new, other than before, or gone. Times to live are no change: a
// renewal writes nothing.
struct DirtyRows {
  std::set<ClientId> clients;
  std::set<SlabId> slabs;
  std::set<std::uint64_t> reclaims;
  std::set<ClientId> pairs;  // by their consumer

  [[nodiscard]] bool empty() const noexcept {
    return clients.empty() && slabs.empty() && reclaims.empty() && pairs.empty();
  }
};

}  // namespace aqua::ledger
