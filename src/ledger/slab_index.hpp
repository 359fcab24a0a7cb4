// SPDX-License-Identifier: Apache-2.0
// SlabIndex finds rows by what they are: free at a producer, or held by a holder. It follows from
// the rows alone, so a row is removed before it changes and added again afterwards.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "ledger/types.hpp"

namespace aqua::ledger {

struct ProducerIndex {
  std::set<std::pair<std::uint64_t, std::uint32_t>> free;  // offered: bytes, index
  std::uint64_t free_bytes = 0;
  std::size_t rows = 0;
  std::size_t held = 0;  // of these, orphans included
  friend bool operator==(const ProducerIndex&, const ProducerIndex&) = default;
};

struct HolderIndex {
  std::set<SlabId> running;  // leased, revoking: a time to live runs
  std::set<SlabId> suspect;
  std::set<SlabId> orphans;
  std::uint64_t bytes = 0;  // of running and suspect: what must find an exit; none of alleged ones
  std::size_t alleged = 0;  // of all three
  std::size_t late = 0;
  friend bool operator==(const HolderIndex&, const HolderIndex&) = default;

  [[nodiscard]] std::size_t count() const noexcept {
    return running.size() + suspect.size() + orphans.size();
  }
  // The slabs that were granted.
  [[nodiscard]] std::size_t leases() const noexcept { return count() - alleged; }
  [[nodiscard]] bool holds_of(const ClientId& producer) const;
};

class SlabIndex {
 public:
  void add(const Slab& row);
  void remove(const Slab& row);

  // Empty indexes for a client that has no rows.
  [[nodiscard]] const ProducerIndex& producer(const ClientId& id) const;
  [[nodiscard]] const HolderIndex& holder(const ClientId& id) const;
  [[nodiscard]] std::uint64_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] const std::map<ClientId, HolderIndex>& holders() const noexcept { return holders_; }
  friend bool operator==(const SlabIndex&, const SlabIndex&) = default;

 private:
  std::map<ClientId, ProducerIndex> producers_;
  std::map<ClientId, HolderIndex> holders_;
  std::uint64_t total_bytes_ = 0;  // of all rows; offer() keeps it, hence every sum, in range
};

}  // namespace aqua::ledger
