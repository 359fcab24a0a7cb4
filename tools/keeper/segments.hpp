// SPDX-License-Identifier: Apache-2.0
// Segments are the host memory that the keeper has for processes which hand bytes over: the memory
// of each segment, the record of who writes and reads it, and who its members are. The memory is a
// memfd of the keeper's own making, that nobody can resize; the keeper maps none of it, and reads
// it for its disk alone.
//
// A connection is one member. What it reads is let go of when it has left or its process has ended,
// proven by the kernel: a pidfd tells. Each segment is new memory: none is ever another writer's.
//
// Threads: none of its own; the keeper's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/socket/packet_server.hpp"
#include "base/socket/peer_process.hpp"
#include "base/unique_fd.hpp"
#include "parcel/segment_book.hpp"
#include "parcel/segment_wire.hpp"
#include "tools/keeper/disk/disk_tier.hpp"
#include "tools/keeper/kept_slab.hpp"
#include "tools/keeper/members.hpp"
#include "tools/keeper/slab_room.hpp"

namespace aqua::keeper {

class Segments {
 public:
  // Sizes are rounded up to this.
  static constexpr std::uint64_t kUnit = std::uint64_t{2} << 20;

  // Whether a process gives a parcel, and has not closed it.
  using CheckGives = std::function<Result<void>(const PeerProcess&, std::uint64_t)>;
  // At most so many members, also of those whose connections have closed; a quarter of them of one
  // process. Each takes two descriptors. The room outlives it.
  // Numbers of segments begin behind `last`.
  Segments(SlabRoom& room, const SegmentQuota& quota, std::size_t most_members,
           CheckGives check_gives, SegmentNumber last);

  // Keeps what is committed for no parcel on this disk as well, and what was left there first:
  // blocks until that is read. Before the first request.
  void use(std::unique_ptr<DiskTier> disk);
  // There is to be a disk, and there is none: why.
  void use_none(const std::string& directory, const Error& why);
  // As DiskTier's; true where there is no disk.
  [[nodiscard]] bool wait_until_written(std::chrono::milliseconds patience) const {
    return disk_ == nullptr || disk_->wait_until_written(patience);
  }

  // An answer, and the descriptors beside it, which stay the segments'.
  struct Served {
    segment_wire::Reply reply;
    std::vector<int> fds{};
  };
  // No request takes descriptors. invalid_argument: some came with it.
  [[nodiscard]] Result<Served> serve(const PacketPeer& from, const segment_wire::Request& request,
                                     const std::vector<UniqueFd>& in);
  // What is kept for a parcel; number 0: nothing.
  [[nodiscard]] SegmentName of_parcel(std::uint64_t parcel) const {
    return book_.of_parcel(parcel);
  }
  // These parcels have ended, and what was committed for them is kept no more.
  void end_parcels(const std::vector<std::uint64_t>& parcels);
  // Memory of some that had ended has been freed: wakes who waits for room.
  void freed();
  // A connection has closed. What its member reads it still does until ended().
  void closed(std::uint64_t number);

  [[nodiscard]] bool knows(std::uint64_t number) const { return members_.contains(number); }
  // Readable once the process of a member has ended.
  [[nodiscard]] std::vector<int> pidfds() const { return pidfds_of(members_); }
  // The members whose process this is. None, if it is not a member's.
  [[nodiscard]] std::vector<std::uint64_t> members_of(int pidfd) const {
    return members_with(members_, pidfd);
  }
  // The process of a member has ended, or it has left. Its connection may still be open.
  void ended(std::uint64_t number);

 private:
  struct Member {
    PeerProcess process;
    UniqueFd wake;        // an eventfd, of which the member has a copy
    bool hungry = false;  // there was no room for what it asked for
    bool watches = false;
  };

  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Join& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Watch& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Reserve& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Commit& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Open& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Close& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Drop& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::GiveUp& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Returned& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Leave& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::List& asked);
  [[nodiscard]] Result<Served> answer(const PacketPeer& from, const segment_wire::Disk& asked);

  [[nodiscard]] Result<Served> reserve(std::uint64_t member, std::uint64_t bytes);
  // resource_exhausted: so much more would be over the quota, with what has ended and is not freed.
  [[nodiscard]] Result<void> check_freed(std::uint64_t bytes) const;
  [[nodiscard]] DiskTier::Memory keep(UniqueFd fd, std::uint64_t bytes);
  // New memory, which `fill` has filled, for what an earlier keeper kept.
  [[nodiscard]] Result<DiskTier::Memory> restore(const LoggedSegment& segment,
                                                 const DiskTier::Fill& fill);
  // What is kept is not what it was.
  void tell_watchers();
  // Lets go of the memory of segments that have ended, and wakes those to whom others came back,
  // and who wait for room.
  void settle(const SegmentNumbers& ended);

  SlabRoom& room_;
  const std::size_t most_members_;
  const CheckGives check_gives_;
  const std::uint64_t most_bytes_;
  // Bytes of all memory that is there, ended or not; shared with what is being freed.
  const std::shared_ptr<std::atomic<std::uint64_t>> bytes_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::uint64_t which_;  // of the keepers that run here one after the other
  SegmentBook book_;
  std::map<SegmentNumber, DiskTier::Memory> memory_;
  std::map<std::uint64_t, Member> members_;  // by connection, and for longer than that lasts
  SegmentDisk no_disk_;                      // what is said where there is none
  std::unique_ptr<DiskTier> disk_;
};

}  // namespace aqua::keeper
