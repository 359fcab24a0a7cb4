// SPDX-License-Identifier: Apache-2.0
// Records of what happened to slabs and reclaims, for metrics, logs and the story of a slab. Events
// (events.hpp) tell clients what to do; changes tell observers what was done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ledger/transition.hpp"
#include "ledger/types.hpp"

namespace aqua::ledger {

// One row went through one cell of the transition table. `returned` stands for "no row", before
// and after.
struct SlabChange {
  Time at{};
  SlabId slab;
  std::uint64_t bytes = 0;
  SlabEvent event{};
  SlabState from{};
  SlabState to{};
  Generation generation = 0;       // after the change
  std::optional<ClientId> holder;  // who holds it, or held it until now
  std::uint64_t reclaim = 0;       // the reclaim that wants it, if any
  bool alleged = false;            // nobody but the producer says that `holder` holds it
};

// A reclaim ended. `dropped` when it ended because its producer is gone.
struct ReclaimEnd {
  Reclaim reclaim;
  bool dropped = false;
};

struct Changes {
  std::vector<SlabChange> slabs;  // in order
  std::vector<ReclaimEnd> ended;

  [[nodiscard]] bool empty() const noexcept { return slabs.empty() && ended.empty(); }
  void clear() noexcept {
    slabs.clear();
    ended.clear();
  }
};

}  // namespace aqua::ledger
