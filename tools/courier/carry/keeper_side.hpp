// SPDX-License-Identifier: Apache-2.0
// KeeperSide is a courier's membership at its own keeper: one role of a pool whose parcels have
// segments, and these segments.
//
// Threads: one at a time.
// Errors:  the keeper's own refusal; unavailable when it is away, and everything from then on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "keeper_client/pool_client.hpp"
#include "tools/courier/carry/keeper_segments.hpp"

namespace aqua::courier {

class KeeperSide {
 public:
  // `keeper`: path of its socket, as SegmentsOptions::keeper. As any member, or as
  // one who carries parcels.
  [[nodiscard]] static Result<KeeperSide> join(const std::string& keeper, const std::string& pool,
                                               const std::string& role,
                                               const std::optional<ParcelBook::Courier>& courier);
  KeeperSide(KeeperSide&&) noexcept = default;
  KeeperSide& operator=(KeeperSide&&) = delete;
  // Unmaps all and leaves: what was taken waits for the next one, what is open ends.
  ~KeeperSide();

  // Asks as a member of the pool.
  [[nodiscard]] Result<pool_wire::PoolReply> ask(const pool_wire::PoolRequest& request);
  [[nodiscard]] bool connected() const { return pool_.connected() && segments_.connected(); }
  // To be polled: readable once there is news, segments have come back, or the keeper closes.
  [[nodiscard]] std::vector<int> descriptors() const;
  // Hears what has come back. There is no news then before the next: what there is is to be asked
  // for afterwards.
  [[nodiscard]] Result<void> clear_news();

  // Those of parcels are committed for them.
  [[nodiscard]] KeeperSegments& segments() { return segments_; }

 private:
  KeeperSide(PoolClient pool, UniqueFd wake, KeeperSegments segments)
      : pool_(std::move(pool)), wake_(std::move(wake)), segments_(std::move(segments)) {}

  PoolClient pool_;
  UniqueFd wake_;
  KeeperSegments segments_;
};

}  // namespace aqua::courier
