// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/keeper.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/concat.hpp"
#include "base/keeper/connection.hpp"
#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua::keeper {
namespace {

namespace wire = sharing::wire;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The answer made of what was served: a reply, and descriptors that stay the keeper's.
template <typename Served>
PacketHandler::Answer answer_of(Result<Served> served) {
  if (!served.ok()) return {.bytes = bytes_of(wire::encode_refusal(served.error()))};
  return {.bytes = bytes_of(encode(served->reply)), .kept_fds = std::move(served->fds)};
}

template <typename Request>
constexpr bool kTakesDescriptors =
    std::is_same_v<Request, wire::Add> || std::is_same_v<Request, wire::Commit>;

}  // namespace

Result<std::unique_ptr<Keeper>> Keeper::start(const KeeperOptions& options,
                                              std::vector<StoredCopy> left) {
  std::unique_ptr<Keeper> keeper(new Keeper(options));
  for (StoredCopy& copy : left) {
    const std::string name = copy.name;
    const std::size_t slabs = copy.slabs.size();
    if (const auto restored = keeper->restore(std::move(copy)); !restored.ok()) {
      std::fprintf(stderr, "aqua-keeper: %s is dropped: %s\n", name.c_str(),
                   restored.error().message.c_str());
      // What there was no room for may find room in a later keeper.
      if (restored.error().code != Code::resource_exhausted) keeper->store_.remove(name, slabs);
    }
  }
  keeper->forget(keeper->book_.all_restored());
  if (!options.disk.empty()) keeper->open_disk(options);
  AQUA_ASSIGN(keeper->server_, PacketServer::open(options.socket, *keeper,
                                                  {.packet_bytes = wire::kMaxPacket,
                                                   .connections = options.connections,
                                                   .of_one_process = options.of_one_process}));
  return keeper;
}

Keeper::~Keeper() = default;

void Keeper::open_disk(const KeeperOptions& options) {
  auto tier = [&]() -> Result<std::unique_ptr<DiskTier>> {
    AQUA_ASSIGN(auto directory, options.open_disk(options.disk));
    return DiskTier::open(options.disk, std::move(directory), options.disk_quota);
  }();
  if (tier.ok()) {
    segments_.use(*std::move(tier));
    return;
  }
  std::fprintf(stderr, "aqua-keeper: disk: segments are in memory alone: %s\n",
               tier.error().message.c_str());
  segments_.use_none(options.disk, tier.error());
}

std::optional<PacketHandler::Answer> Keeper::on_packet(const PacketPeer& from, Message packet) {
  if (from.uid != ::geteuid() && from.uid != 0) return std::nullopt;
  const auto for_pools = pool_wire::decode_pool_request(text_of(packet));
  if (!for_pools.ok()) return Answer{.bytes = bytes_of(wire::encode_refusal(for_pools.error()))};
  if (*for_pools) {
    auto served = pools_.serve(from, **for_pools, std::move(packet.fds));
    segments_.end_parcels(pools_.take_ended());
    return answer_of(std::move(served));
  }
  const auto for_segments = segment_wire::decode_request(text_of(packet));
  if (!for_segments.ok()) {
    return Answer{.bytes = bytes_of(wire::encode_refusal(for_segments.error()))};
  }
  if (*for_segments) return answer_of(segments_.serve(from, **for_segments, packet.fds));
  const auto request = wire::decode_request(text_of(packet));
  if (!request.ok()) return Answer{.bytes = bytes_of(wire::encode_refusal(request.error()))};
  return answer_of(std::visit(
      [&](const auto& asked) -> Result<Served> {
        if constexpr (kTakesDescriptors<std::decay_t<decltype(asked)>>) {
          return serve(from.number, asked, std::move(packet.fds));
        } else {
          if (packet.fds.empty()) return serve(from.number, asked);
          return Error{
              Code::invalid_argument,
              concat("keeper: ", packet.fds.size(), " descriptors with a request that takes none")};
        }
      },
      *request));
}

void Keeper::on_closed(std::uint64_t number) {
  waiters_.forget(number);
  const auto gone = book_.gone(number);
  forget(gone);
  if (!gone.empty()) waiters_.wake_all();
  pools_.closed(number);
  segments_.closed(number);
  segments_.end_parcels(pools_.take_ended());
}

std::vector<int> Keeper::watched() const {
  std::vector<int> fds = pools_.pidfds();
  const auto others = segments_.pidfds();
  fds.insert(fds.end(), others.begin(), others.end());
  fds.push_back(room_.freed_event());
  return fds;
}

void Keeper::on_readable(PacketServer& server, int fd) {
  if (fd == room_.freed_event()) {
    clear_event(fd);
    waiters_.wake_all();
    segments_.freed();
    return;
  }
  for (const std::uint64_t number : pools_.members_of(fd)) {
    server.close(number);  // a forked child may hold it open
    pools_.ended(number);
  }
  for (const std::uint64_t number : segments_.members_of(fd)) {
    server.close(number);
    segments_.ended(number);
  }
  segments_.end_parcels(pools_.take_ended());
}

void Keeper::forget(std::span<const sharing::CopyId> ids) {
  for (const sharing::CopyId id : ids) {
    store_.forget(copies_.at(id));
    copies_.forget(id);
  }
}

Result<void> Keeper::restore(StoredCopy left) {
  store_.skip(left.name);
  AQUA_ASSIGN(const StoredRecord record, read_record(left));
  AQUA_ASSIGN(const Served opened, serve(kNobody, record.publish));
  const sharing::CopyId id = opened.reply.copy;
  KeptCopy& copy = copies_.at(id);
  const auto refill = [&]() -> Result<void> {
    AQUA_TRY(copies_.add(id, record.bytes, std::move(left.slabs)));
    std::vector<UniqueFd> manifest;
    manifest.push_back(std::move(left.manifest));
    AQUA_TRY(copies_.set_manifest(id, std::move(manifest)));
    copy.stored = left.name;
    AQUA_ASSIGN(const auto forgotten, book_.commit(kNobody, id));
    forget(forgotten);
    return {};
  };
  auto filled = refill();
  if (!filled.ok()) forget(book_.gone(kNobody));
  return filled;
}

bool Keeper::dispensable(std::uint64_t number) const {
  return !book_.knows(number) && !waiters_.has(number) && !pools_.knows(number) &&
         !segments_.knows(number);
}

}  // namespace aqua::keeper
