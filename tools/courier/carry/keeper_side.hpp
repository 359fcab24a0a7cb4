// SPDX-License-Identifier: Apache-2.0
// KeeperSide is a courier's membership at its own keeper: one role of a pool whose parcels have
// segments, and these segments.
//
// Threads: one at a time.
// Errors:  the keeper's own refusal; unavailable when it is away, and everything from then on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aqua/handoff/parcel.hpp"
#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "keeper_client/pool_client.hpp"
#include "keeper_client/segment_client.hpp"
#include "tools/courier/carry/mapped_file.hpp"

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

  // Maps what is kept for a parcel that was taken.
  [[nodiscard]] Result<MappedFile> read(const SegmentName& name);
  [[nodiscard]] Result<void> close(const SegmentName& name);
  // A segment of at least so many bytes, for this process to fill.
  struct Segment {
    std::uint64_t number = 0;
    std::span<std::byte> bytes{};
  };
  [[nodiscard]] Result<Segment> take(std::uint64_t bytes);
  void give_back(std::uint64_t number) { ready_.push_back(number); }
  // It is the parcel's, and comes back some time after that has ended.
  [[nodiscard]] Result<void> commit(std::uint64_t number, const SegmentName& as,
                                    std::uint64_t parcel);

 private:
  KeeperSide(PoolClient pool, UniqueFd wake, SegmentClient segments, UniqueFd segment_wake)
      : pool_(std::move(pool)),
        wake_(std::move(wake)),
        segments_(std::move(segments)),
        segment_wake_(std::move(segment_wake)) {}
  [[nodiscard]] Result<void> hear_returned();
  // Gives up segments until so many are ready.
  [[nodiscard]] Result<void> keep_ready(std::size_t most);
  [[nodiscard]] Result<Segment> reserve(std::uint64_t bytes);

  PoolClient pool_;
  UniqueFd wake_;
  SegmentClient segments_;
  UniqueFd segment_wake_;
  std::map<std::uint64_t, MappedFile> own_;
  std::vector<std::uint64_t> ready_;  // of own_
};

}  // namespace aqua::courier
