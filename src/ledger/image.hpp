// SPDX-License-Identifier: Apache-2.0
// The rows of a ledger that a store writes down and reads again, and the names of those that
// changed.
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

// One client as it is stored. Times to live and who is silent are not stored: they mean nothing to
// the next life. Reclaim::outstanding is empty in an Image, because it follows from Slab::reclaim.
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

// Names rows that are new, changed or gone. A new time to live is no change, so a renewal writes
// nothing.
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
