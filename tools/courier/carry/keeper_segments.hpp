// SPDX-License-Identifier: Apache-2.0
// KeeperSegments is a courier's membership at its own keeper as far as segments go: it reads what
// is kept there, and fills new ones.
//
// Threads: one at a time.
// Errors:  the keeper's own refusal; unavailable when it is away, and everything from then on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "aqua/handoff/segment.hpp"
#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "keeper_client/segment_client.hpp"
#include "tools/courier/carry/mapped_file.hpp"

namespace aqua::courier {

class KeeperSegments {
 public:
  // The keeper may be stopped, which is not the end of it; when it ends, a call does too.
  static constexpr std::chrono::hours kWithoutEnd{24 * 365};

  // `keeper`: path of its socket, as SegmentsOptions::keeper.
  [[nodiscard]] static Result<KeeperSegments> join(const std::string& keeper);
  KeeperSegments(KeeperSegments&&) noexcept = default;
  KeeperSegments& operator=(KeeperSegments&&) = delete;
  ~KeeperSegments() { leave(); }
  // Unmaps all and leaves; no other call follows.
  void leave();

  [[nodiscard]] bool connected() const { return segments_.connected(); }
  // Which of the keepers that run here, one after the other: SegmentOrigin::keeper.
  [[nodiscard]] std::uint64_t keeper() const { return keeper_; }
  // To be polled: readable once segments have come back, what is watched has changed, or the keeper
  // closes.
  [[nodiscard]] std::vector<int> descriptors() const {
    return {wake_.get(), segments_.descriptor()};
  }
  // Hears what has come back. There is no news then before the next. unavailable: the keeper has
  // closed.
  [[nodiscard]] Result<void> clear_news();
  // News from now on also of what is kept for no parcel.
  [[nodiscard]] Result<void> watch();
  // All that is kept.
  [[nodiscard]] Result<std::vector<SegmentStatus>> list() { return segments_.list(kWithoutEnd); }

  // Maps what is kept.
  [[nodiscard]] Result<MappedFile> read(const SegmentName& name);
  [[nodiscard]] Result<void> close(const SegmentName& name);
  // Drops a copy whose original was dropped, unless it was adopted. False: it is read at present,
  // by who may yet adopt it.
  [[nodiscard]] Result<bool> drop_copy(const SegmentName& name);
  // A segment of at least so many bytes, for this process to fill. Where there is no room, waits up
  // to half a second until memory is freed, and answers resource_exhausted then.
  struct Segment {
    std::uint64_t number = 0;
    std::span<std::byte> bytes{};
  };
  [[nodiscard]] Result<Segment> take(std::uint64_t bytes);
  void give_back(std::uint64_t number) { ready_.push_back(number); }
  // For a parcel. It comes back some time after that has ended.
  [[nodiscard]] Result<void> commit(const segment_wire::Commit& what);
  // As a copy, whose memory does not come back. Answers the name that it has here.
  [[nodiscard]] Result<SegmentName> commit_for_good(const segment_wire::Commit& what);

 private:
  KeeperSegments(SegmentClient segments, UniqueFd wake, std::uint64_t keeper)
      : segments_(std::move(segments)), wake_(std::move(wake)), keeper_(keeper) {}
  // Gives up segments until so many are ready.
  [[nodiscard]] Result<void> keep_ready(std::size_t most);
  [[nodiscard]] Result<Segment> reserve(std::uint64_t bytes);

  SegmentClient segments_;
  UniqueFd wake_;
  std::uint64_t keeper_;
  std::map<std::uint64_t, MappedFile> own_;
  std::vector<std::uint64_t> ready_;  // of own_
  bool left_ = false;
};

}  // namespace aqua::courier
