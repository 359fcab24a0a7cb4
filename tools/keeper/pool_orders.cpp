// SPDX-License-Identifier: Apache-2.0
// What those may ask of a pool who look after it and are no members.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/keeper/pools.hpp"

namespace aqua::keeper {

Result<Pools::Served> Pools::list(std::uint32_t first) const {
  Served served;
  std::uint32_t row = 0;
  for (const auto& [name, pool] : pools_) {
    if (pool.maker != 0 || row++ < first) continue;
    if (served.reply.pools.size() == pool_wire::kMostPoolRows) {
      served.reply.more = true;
      break;
    }
    const PoolCounts counts = pool.book.counts();
    served.reply.pools.push_back(
        {.pool = name,
         .device = pool.device,
         .shape = pool.shape,
         .members = members_in(name),
         .bytes = pool.bytes,
         .blocks = pool.book.blocks(),
         .free = counts.free,
         .owned = counts.owned,
         .offered = counts.offered,
         .shared = counts.shared,
         .orphaned = counts.orphaned,
         .quarantined = counts.quarantined,
         .waiting = static_cast<std::uint32_t>(pool.book.parcels().waiting()),
         .ended = static_cast<std::uint32_t>(pool.book.parcels().ended_ids()),
         .quotas = {}});
    for (const auto& [role, blocks] : pool.book.quotas()) {
      served.reply.pools.back().quotas.push_back(
          {.role = role, .blocks = blocks, .had = pool.book.had_by_role(role)});
    }
  }
  return served;
}

std::int64_t Pools::pid_of(std::uint64_t member) const {
  const auto known = members_.find(member);
  return known == members_.end() ? 0 : known->second.process.pid();
}

Result<Pools::Served> Pools::list(const pool_wire::ListParcels& asked) {
  AQUA_ASSIGN(const Pool* const pool, find(asked.pool));
  const ParcelBook& parcels = pool->book.parcels();
  Served served;
  // One more than a page tells whether there is another page.
  for (const std::uint64_t number : parcels.numbers(asked.after, pool_wire::kMostParcelRows + 1)) {
    if (served.reply.listed.size() == pool_wire::kMostParcelRows) {
      served.reply.more = true;
      break;
    }
    const ParcelBook::Record& record = *parcels.find(number);
    const auto age = std::chrono::steady_clock::now() - begun_.at(number);
    served.reply.listed.push_back(
        {.number = number,
         .id = record.id,
         .turn = record.turn,
         .state = record.state,
         .from = record.from,
         .to = record.role,
         .giver_pid = pid_of(record.giver),
         .taker_pid = pid_of(record.taker),
         .tokens = record.tokens,
         .age = std::chrono::duration_cast<std::chrono::milliseconds>(age)});
  }
  return served;
}

Result<Pools::Served> Pools::remove(const std::string& name) {
  AQUA_TRY(find(name));
  if (const auto members = members_in(name); members != 0) {
    return Error{Code::failed_precondition,
                 concat("keeper: pool '", name, "' has members, ", members, " of them")};
  }
  erase(pools_.find(name));
  return Served{};
}

Result<Pools::Served> Pools::cancel(const pool_wire::Cancel& asked) {
  AQUA_ASSIGN(Pool* const pool, find(asked.pool));
  AQUA_TRY(pool->book.cancel(asked.id, asked.up_to));
  hear(pool->book);
  wake(asked.pool, Wake::takers);
  settle(asked.pool);
  return Served{};
}

Result<Pools::Served> Pools::release(const std::string& name) {
  AQUA_ASSIGN(Pool* const pool, find(name));
  pool->book.release_quarantined();
  settle(name);
  return Served{};
}

Result<Pools::Served> Pools::move_quota(const pool_wire::MoveQuota& asked) {
  AQUA_ASSIGN(Pool* const pool, find(asked.pool));
  // One of no blocks has no slabs, and its roles have no quotas.
  const std::uint64_t slabs = std::max<std::uint64_t>(1, pool->slabs.size());
  const std::uint64_t all = std::max<std::uint64_t>(1, pool->book.blocks());
  const std::uint64_t of_slab = std::max<std::uint64_t>(1, all / slabs);
  const auto blocks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(asked.slabs * of_slab, all));
  AQUA_TRY(pool->book.move_quota(asked.from, asked.to, blocks));
  settle(asked.pool);
  return Served{};
}

}  // namespace aqua::keeper
