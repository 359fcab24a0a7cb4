// SPDX-License-Identifier: Apache-2.0
// The KV pools of a keeper, for people and for who looks after it.
//
// Threads: free functions; concurrent calls are fine. Each blocks for the keeper's answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/export.h"
#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"

namespace aqua {

// What the members of a role may have of a pool's blocks together, and have.
struct RoleQuota {
  std::string role{};
  std::uint32_t blocks = 0;
  std::uint32_t had = 0;  // may be more: parcels are accepted whatever the quota
  friend bool operator==(const RoleQuota&, const RoleQuota&) = default;
};

struct PoolStatus {
  std::string pool{};
  std::string device{};  // as PublishedMemory::device_of()
  std::string shape{};   // as its first member told it
  std::uint32_t members = 0;
  std::uint64_t bytes = 0;
  std::uint32_t blocks = 0;  // in all; each is one of these:
  std::uint32_t free = 0;
  std::uint32_t owned = 0;     // by a member alone
  std::uint32_t offered = 0;   // in parcels that nobody has taken
  std::uint32_t shared = 0;    // read by any number
  std::uint32_t orphaned = 0;  // of members that are gone and whose end is not proven
  // Blocks of members that are dead, whose work on the device may not be: nobody gets them before
  // release_quarantined(), or the end of the pool.
  std::uint32_t quarantined = 0;
  std::uint32_t waiting = 0;        // parcels that nobody has taken
  std::uint32_t ended = 0;          // requests that have ended and whose turns are remembered
  std::vector<RoleQuota> quotas{};  // of the roles that have one
  friend bool operator==(const PoolStatus&, const PoolStatus&) = default;
};

// A parcel of a pool that has not ended. Where one that is reserved or open is old, its giver may
// be stuck, or wait for room.
struct ParcelStatus {
  std::uint64_t number = 0;
  std::string id{};  // as cancel_parcel() names it
  std::uint64_t turn = 0;
  ParcelState state = ParcelState::reserved;
  std::string from{};  // the role of its giver
  std::string to{};    // the role that is to take it
  // Processes of this server. 0: there is none any more, or the keeper has no number for it.
  std::int64_t giver_pid = 0, taker_pid = 0;
  std::uint32_t tokens = 0;          // once it is closed
  std::chrono::milliseconds age{0};  // since it was begun
  friend bool operator==(const ParcelStatus&, const ParcelStatus&) = default;
};

// By name. `keeper`: as WeightsOptions::keeper. unavailable and permission_denied as
// SharedWeights::attach().
[[nodiscard]] AQUA_API Result<std::vector<PoolStatus>> list_pools(const std::string& keeper = {});
// By number, the oldest first. not_found: no such pool.
[[nodiscard]] AQUA_API Result<std::vector<ParcelStatus>> list_parcels(
    const std::string& pool, const std::string& keeper = {});
// Ends a parcel that nobody has taken: of a request that was cancelled, say. The blocks of a closed
// one are free then; of an open one they stay its giver's, as a segment that it fills does. One
// whose giver opened it under a turn above `up_to` stays: who gives up one move of a request names
// its turn, and a later move of the same request is not touched however late this comes.
//   not_found            no such pool, or no such parcel
//   failed_precondition  it is taken. It ends with its taker's work, and waits again where that one
//                        dies; what a courier has taken is cancelled where it goes. To be asked
//                        again by who has to know that it has ended.
[[nodiscard]] AQUA_API Result<void> cancel_parcel(const std::string& pool, const std::string& id,
                                                  const std::string& keeper = {},
                                                  std::uint64_t up_to = kMostTurn);
// Says that nothing writes to the quarantined blocks of a pool any more: the device was idle since
// the deaths, say. They are free then, and no parcel is in doubt. A wrong word costs bytes.
// not_found: no such pool.
[[nodiscard]] AQUA_API Result<void> release_quarantined(const std::string& pool,
                                                        const std::string& keeper = {});
// One role's members may have less of the pool from now on, and another's as much more: the blocks
// of so many slabs (one slab's are the pool's, divided by its slabs; at least one block). Nothing
// is taken from anybody: who has more than it may is given nothing until it has less.
//   not_found            no such pool, or one of the roles has no quota (KvPoolOptions)
//   invalid_argument     no slabs, or from a role to itself
//   resource_exhausted   the first role would be left with no block
[[nodiscard]] AQUA_API Result<void> move_quota(const std::string& pool, const std::string& from,
                                               const std::string& to, std::uint32_t slabs,
                                               const std::string& keeper = {});
// Ends a pool of which nobody is a member, with the parcels that wait in it.
//   not_found            there is no such pool
//   failed_precondition  it has members, or one whose end is not proven
[[nodiscard]] AQUA_API Result<void> remove_pool(const std::string& pool,
                                                const std::string& keeper = {});

}  // namespace aqua
