// SPDX-License-Identifier: Apache-2.0
#include "aqua/handoff/pools.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/try.hpp"
#include "keeper_client/pool_client.hpp"

namespace aqua {

Result<std::vector<PoolStatus>> list_pools(const std::string& keeper) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  std::vector<PoolStatus> rows;
  for (bool more = true; more;) {
    AQUA_ASSIGN(
        auto answer,
        client.call(pool_wire::ListPools{.first = static_cast<std::uint32_t>(rows.size())}));
    auto& part = answer.reply.pools;
    more = answer.reply.more && !part.empty();
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

Result<std::vector<ParcelStatus>> list_parcels(const std::string& pool, const std::string& keeper) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  std::vector<ParcelStatus> rows;
  for (bool more = true; more;) {
    const std::uint64_t after = rows.empty() ? 0 : rows.back().number;
    AQUA_ASSIGN(auto answer, client.call(pool_wire::ListParcels{.pool = pool, .after = after}));
    auto& part = answer.reply.listed;
    more = answer.reply.more && !part.empty();
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

Result<void> cancel_parcel(const std::string& pool, const std::string& id,
                           const std::string& keeper, std::uint64_t up_to) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  AQUA_TRY(
      client.call(pool_wire::Cancel{.pool = pool, .id = id, .up_to = std::min(up_to, kMostTurn)}));
  return {};
}

Result<void> release_quarantined(const std::string& pool, const std::string& keeper) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  AQUA_TRY(client.call(pool_wire::Release{.pool = pool}));
  return {};
}

Result<void> move_quota(const std::string& pool, const std::string& from, const std::string& to,
                        std::uint32_t slabs, const std::string& keeper) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  AQUA_TRY(client.call(pool_wire::MoveQuota{.pool = pool, .from = from, .to = to, .slabs = slabs}));
  return {};
}

Result<void> remove_pool(const std::string& pool, const std::string& keeper) {
  AQUA_ASSIGN(PoolClient client, PoolClient::connect(keeper));
  AQUA_TRY(client.call(pool_wire::RemovePool{.pool = pool}));
  return {};
}

}  // namespace aqua
