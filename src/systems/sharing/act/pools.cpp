// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/pools.hpp"

#include <iterator>
#include <utility>

#include "base/try.hpp"
#include "systems/sharing/act/keeper_client.hpp"

namespace aqua::sharing {

Result<std::vector<PoolStatus>> list_pools(const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  std::vector<PoolStatus> rows;
  for (bool more = true; more;) {
    AQUA_ASSIGN(auto answer,
                client.call(wire::ListPools{.first = static_cast<std::uint32_t>(rows.size())}));
    auto& part = answer.reply.pools;
    more = answer.reply.more && !part.empty();
    std::move(part.begin(), part.end(), std::back_inserter(rows));
  }
  return rows;
}

Result<void> cancel_parcel(const std::string& pool, const std::string& id,
                           const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  AQUA_TRY(client.call(wire::Cancel{.pool = pool, .id = id}));
  return {};
}

Result<void> remove_pool(const std::string& pool, const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  AQUA_TRY(client.call(wire::RemovePool{.pool = pool}));
  return {};
}

}  // namespace aqua::sharing
