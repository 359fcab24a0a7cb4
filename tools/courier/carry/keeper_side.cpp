// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/carry/keeper_side.hpp"

#include <utility>

#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::courier {

Result<KeeperSide> KeeperSide::join(const std::string& keeper, const std::string& pool,
                                    const std::string& role,
                                    const std::optional<ParcelBook::Courier>& courier) {
  AQUA_ASSIGN(PoolClient parcels, PoolClient::connect(keeper));
  AQUA_ASSIGN(UniqueFd pool_wake, parcels.join_segments(pool, role, courier));
  AQUA_ASSIGN(KeeperSegments segments, KeeperSegments::join(keeper));
  return KeeperSide(std::move(parcels), std::move(pool_wake), std::move(segments));
}

KeeperSide::~KeeperSide() {
  segments_.leave();
  if (pool_.connected()) (void)pool_.call(pool_wire::Leave{});
}

Result<pool_wire::PoolReply> KeeperSide::ask(const pool_wire::PoolRequest& request) {
  AQUA_ASSIGN(auto answer, pool_.call(request, {}, KeeperSegments::kWithoutEnd));
  return std::move(answer.reply);
}

std::vector<int> KeeperSide::descriptors() const {
  std::vector<int> all{wake_.get(), pool_.descriptor()};
  for (const int fd : segments_.descriptors()) all.push_back(fd);
  return all;
}

Result<void> KeeperSide::clear_news() {
  clear_event(wake_.get());
  return segments_.clear_news();
}

}  // namespace aqua::courier
