// SPDX-License-Identifier: Apache-2.0
// Pools are the KV pools that the keeper has: the memory of each, the record of its blocks, and who
// its members are. A pool is made by the first that joins it, out of slabs of its own, and ends
// when it has neither members nor parcels that wait.
//
// A connection is one member of one pool. What a member has is nobody else's before it has left
// (and has unmapped the pool) or its process has ended, proven by the kernel: a pidfd tells.
//
// Threads: none of its own; the keeper's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "base/socket/packet_server.hpp"
#include "base/socket/peer_process.hpp"
#include "base/unique_fd.hpp"
#include "parcel/pool_book.hpp"
#include "parcel/pool_wire.hpp"
#include "tools/keeper/kept_slab.hpp"
#include "tools/keeper/members.hpp"
#include "tools/keeper/slab_room.hpp"
#include "tools/keeper/waiters.hpp"

namespace aqua::keeper {

// What bounds the keeper's own memory, and its descriptors.
struct PoolLimits {
  std::size_t pools = 0;
  // Also those whose connections have closed; a quarter of them of one process. Each takes two
  // descriptors.
  std::size_t members = 0;
  std::uint64_t record_bytes = 0;  // of parcels and shared blocks in all pools: PoolBook::bytes()
  std::uint64_t blocks = std::uint64_t{1} << 22;  // of all pools
};

class Pools {
 public:
  // Answers which segment a parcel has.
  using SegmentOf = std::function<SegmentName(std::uint64_t)>;
  // The room outlives it.
  Pools(SlabRoom& room, const PoolLimits& limits, SegmentOf segment_of)
      : room_(room), limits_(limits), segment_of_(std::move(segment_of)) {}

  // An answer, and the descriptors beside it, which stay the pool's.
  struct Served {
    pool_wire::PoolReply reply;
    std::vector<int> fds{};
  };
  // A request of a connection; one that takes descriptors gets those that came.
  [[nodiscard]] Result<Served> serve(const PacketPeer& from, const pool_wire::PoolRequest& request,
                                     std::vector<UniqueFd> in);
  // A connection has closed. What its member had stays its own until ended(), if it had anything.
  void closed(std::uint64_t number);

  // Whether a member of this process gives this parcel and has not closed it. not_found: none does.
  [[nodiscard]] Result<void> check_gives(const PeerProcess& process, std::uint64_t parcel) const;
  // Parcels that have ended since the last call. No two ever have the same number.
  [[nodiscard]] std::vector<std::uint64_t> take_ended() { return std::exchange(ended_, {}); }

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
  struct Pool {
    std::string device;
    std::string shape;
    std::uint64_t bytes = 0;
    std::uint64_t maker = 0;  // a connection; 0: it is made
    std::vector<KeptSlab> slabs{};
    std::uint64_t slab_bytes = 0;  // of those that are there
    bool on_device = false;        // and not in files, which the kernel ends the writing of
    PoolBook book;
  };
  struct Member {
    std::string pool;
    std::string role;
    std::uint32_t quota = 0;  // that it named
    PeerProcess process;
    UniqueFd wake;  // an eventfd, of which the member has a copy
  };
  using Fds = std::vector<UniqueFd>;

  // A pool, and who asks in it. not_found: the caller is no member of a pool that is made.
  struct Asker {
    std::uint64_t number = 0;
    Pool& pool;
    Member& member;
  };
  [[nodiscard]] Result<Asker> asker(const PacketPeer& from);
  // resource_exhausted: a pool of so many blocks, or so many bytes more in the records, are too
  // much for all pools together.
  [[nodiscard]] Result<void> check_new_pool(std::uint32_t blocks) const;
  [[nodiscard]] Result<void> check_record(std::uint64_t more_bytes) const;
  [[nodiscard]] std::uint32_t members_in(const std::string& name) const;
  [[nodiscard]] Result<Pool*> find(const std::string& name);

  [[nodiscard]] Result<Served> join(const PacketPeer& from, const pool_wire::JoinPool& asked);
  [[nodiscard]] Result<Served> add(const PacketPeer& from, const pool_wire::AddSlabs& asked,
                                   Fds in);
  [[nodiscard]] Result<Served> list(std::uint32_t first) const;
  [[nodiscard]] Result<Served> list(const pool_wire::ListParcels& asked);
  [[nodiscard]] Result<Served> remove(const std::string& name);
  [[nodiscard]] Result<Served> cancel(const pool_wire::Cancel& asked);
  [[nodiscard]] Result<Served> release(const std::string& name);
  [[nodiscard]] Result<Served> move_quota(const pool_wire::MoveQuota& asked);
  [[nodiscard]] Result<Served> leave(const PacketPeer& from);
  // What only a member may ask, and may wake others by.
  template <typename Asked>
  [[nodiscard]] Result<Served> serve_member(const PacketPeer& from, const Asked& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::FetchSlabs& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Grant& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::GiveBack& asked);
  [[nodiscard]] Result<Served> answer(Asker by, const pool_wire::Share& asked);
  [[nodiscard]] Result<Served> answer(Asker by, const pool_wire::Offer& asked) const;
  [[nodiscard]] Result<Served> answer(Asker by, const pool_wire::Open& asked) const;
  [[nodiscard]] Result<Served> answer(Asker by, const pool_wire::Close& asked) const;
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Recall& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::TellCutOff& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Confirm& asked);
  [[nodiscard]] Result<Served> answer(Asker by, const pool_wire::Accept& asked) const;
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Admit& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Renew& asked);
  [[nodiscard]] static Result<Served> answer(Asker by, const pool_wire::Finish& asked);

  [[nodiscard]] std::int64_t pid_of(std::uint64_t member) const;
  // Parcels of this pool have ended, or been given numbers.
  void hear(PoolBook& book);
  // Not quiet: work that the member left may still write to the pool.
  void end(std::uint64_t number, bool is_quiet);
  // Wakes who has not been told of something, and who may accept something.
  enum class Wake : std::uint8_t { told, takers };
  void wake(const std::string& name, Wake whom);
  // Wakes who waits for blocks and is to have some, and ends the pool if it is to end.
  void settle(const std::string& name);
  void forget_waiter(std::uint64_t number);
  // The pool has been made, or will not be.
  void wake_waiters(const std::string& name);
  void erase(std::map<std::string, Pool>::iterator pool);

  SlabRoom& room_;
  const PoolLimits limits_;
  const SegmentOf segment_of_;
  std::uint64_t last_parcel_ = 0;
  std::vector<std::uint64_t> ended_;
  // When parcels were begun that have not ended.
  std::map<std::uint64_t, std::chrono::steady_clock::time_point> begun_;
  std::map<std::string, Pool> pools_;
  std::map<std::string, Waiters> waiters_;   // to join pools that are being made, each one
  std::map<std::uint64_t, Member> members_;  // by connection, and for longer than that lasts
};

}  // namespace aqua::keeper
