// SPDX-License-Identifier: Apache-2.0
// Keeper holds memory for processes that come and go: that of published models, that of KV pools
// (Pools), and host memory that processes hand over (Segments). It has the descriptors, remembers
// what belongs together, and hands descriptors to who may map them. It maps nothing, reads
// what it keeps for its disk alone (DiskThread), and speaks to processes of its own user and root
// alone.
//
// What a client says of models ends with its connection: what it was filling is dropped, what it
// read is read no more. That is enough, because nobody writes what is published: memory goes when
// the last process has unmapped it, whatever the keeper believes.
//
// What is committed lies in systemd's descriptor store as well, where there is one: a keeper that
// is started after another one died has what that had.
//
// Threads: the server's, inside.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/socket/packet_server.hpp"
#include "systems/sharing/decide/keeper_wire.hpp"
#include "tools/keeper/copies.hpp"
#include "tools/keeper/descriptor_store.hpp"
#include "tools/keeper/disk/posix_directory.hpp"
#include "tools/keeper/pools.hpp"
#include "tools/keeper/segments.hpp"
#include "tools/keeper/slab_room.hpp"
#include "tools/keeper/waiters.hpp"

namespace aqua::keeper {

struct KeeperOptions {
  std::string socket;                // mode 0600
  std::size_t connections = 1024;    // publishers and readers
  std::size_t of_one_process = 256;  // of these
  std::size_t most_slabs = 1 << 16;  // of all that is kept
  std::size_t pools = 64;            // each remembers up to 65,536 ids of parcels that ended
  std::size_t members = 256;         // of KV pools; a quarter of them of one process
  // The keeper's memory for parcels, their notes and shared blocks of all pools.
  std::uint64_t pool_record_bytes = std::uint64_t{1} << 30;
  std::size_t segment_members = 256;  // who has segments; a quarter of them of one process
  // Bytes of segments. Those of one process are at most half of it.
  std::uint64_t segment_bytes = std::uint64_t{16} << 30;
  std::size_t most_segments = 4096;
  // Numbers of segments begin behind this one. aqua-keeper draws it: names outlive a keeper, on its
  // disk and with those who were told of them, and none of an earlier keeper's is to be taken for
  // one of this one's.
  std::uint64_t last_segment = 0;
  std::string disk{};  // a directory for segments; empty: they are in memory alone
  // The seam exists for tests, whose disks stand still.
  std::function<Result<std::unique_ptr<LogDirectory>>(const std::string&)> open_disk =
      open_log_directory;
  std::uint64_t disk_quota = 0;  // bytes of its files
};

class Keeper final : private PacketHandler {
 public:
  // With what an earlier keeper left in the store; what of that is not whole is dropped, and told
  // on stderr. Blocks until what it left on the disk is read. A disk that cannot be used is told on
  // stderr and to who asks; segments are in memory alone then.
  [[nodiscard]] static Result<std::unique_ptr<Keeper>> start(const KeeperOptions& options,
                                                             std::vector<StoredCopy> left = {});
  // Blocks until what is committed is on the disk. False: not yet, after so long.
  [[nodiscard]] bool wait_until_written(std::chrono::milliseconds patience) const {
    return segments_.wait_until_written(patience);
  }
  ~Keeper() override;  // closes all descriptors: readers keep what they have mapped

 private:
  explicit Keeper(const KeeperOptions& options)
      : room_(options.most_slabs),
        pools_(room_,
               {.pools = options.pools,
                .members = options.members,
                .record_bytes = options.pool_record_bytes},
               [this](std::uint64_t parcel) { return segments_.of_parcel(parcel); }),
        segments_(
            room_,
            {.bytes = options.segment_bytes,
             .of_user = options.segment_bytes,
             .of_process = options.segment_bytes / 2,
             .segments = options.most_segments},
            options.segment_members,
            [this](const PeerProcess& process, std::uint64_t parcel) {
              return pools_.check_gives(process, parcel);
            },
            options.last_segment) {}
  std::optional<Answer> on_packet(const PacketPeer& from, Message packet) override;
  void on_closed(std::uint64_t number) override;
  [[nodiscard]] bool dispensable(std::uint64_t number) const override;
  [[nodiscard]] std::vector<int> watched() const override;
  void on_readable(PacketServer& server, int fd) override;

  using Reply = sharing::wire::Reply;
  using Fds = std::vector<UniqueFd>;
  // An answer, and the descriptors beside it, which stay the keeper's.
  struct Served {
    Reply reply;
    std::vector<int> fds{};
  };
  // A request of `from`; the two that take descriptors get those that came.
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Publish& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Add& asked, Fds in);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Commit& asked,
                                     Fds in);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Attach& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Fetch& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Detach& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::ListModels& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::ListCopies& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Retire& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Drop& asked);
  [[nodiscard]] Result<Served> serve(std::uint64_t from, const sharing::wire::Freeing& asked);

  static constexpr sharing::ClientNumber kNobody = 0;  // no connection has this number

  void forget(std::span<const sharing::CopyId> ids);
  void open_disk(const KeeperOptions& options);
  // Asks of itself what a publisher asked of an earlier keeper.
  [[nodiscard]] Result<void> restore(StoredCopy left);

  // These belong to the server's thread.
  sharing::ModelBook book_;
  SlabRoom room_;
  Copies copies_{room_};
  Waiters waiters_;  // for weights that are being published, or memory that is being freed
  DescriptorStore store_;
  Pools pools_;
  Segments segments_;
  std::unique_ptr<PacketServer> server_;  // its thread ends first
};

}  // namespace aqua::keeper
