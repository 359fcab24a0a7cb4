// SPDX-License-Identifier: Apache-2.0
// WriteSet is one change of the ledger or of the groups as a store takes it: rows as they are now,
// and the names of rows that are gone.
#pragma once

#include <cstdint>
#include <vector>

#include "groups/types.hpp"
#include "ledger/image.hpp"
#include "ledger/ledger.hpp"

namespace aqua::coordinator {

struct WriteSet {
  ledger::Image put;  // new, or in place of the row of that name
  std::vector<ClientId> clients_gone;
  std::vector<ledger::SlabId> slabs_gone;
  std::vector<std::uint64_t> reclaims_gone;
  std::vector<ClientId> pairs_gone;      // by their consumer
  std::vector<groups::GroupRow> groups;  // each with all of its members
  std::vector<groups::GroupId> groups_gone;

  [[nodiscard]] bool empty() const noexcept {
    return put.clients.empty() && put.slabs.empty() && put.reclaims.empty() && put.pairs.empty() &&
           clients_gone.empty() && slabs_gone.empty() && reclaims_gone.empty() &&
           pairs_gone.empty() && groups.empty() && groups_gone.empty();
  }
};

// What has changed, looked up now.
[[nodiscard]] WriteSet write_set(const ledger::Ledger& ledger, const ledger::DirtyRows& dirty);

}  // namespace aqua::coordinator
