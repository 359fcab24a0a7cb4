// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/keeper.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::keeper {
namespace {

namespace wire = sharing::wire;

std::string_view text_of(const Message& packet) {
  return {reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()};
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<void> no_descriptors(const std::vector<UniqueFd>& fds) {
  if (fds.empty()) return {};
  return Error{Code::invalid_argument,
               concat("keeper: ", fds.size(), " descriptors with a request that takes none")};
}

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
      if (restored.error().code != Code::resource_exhausted) keeper->store_.forget(name, slabs);
    }
  }
  AQUA_ASSIGN(keeper->server_, PacketServer::open(options.socket, *keeper,
                                                  {.packet_bytes = wire::kMaxPacket,
                                                   .connections = options.connections,
                                                   .of_one_process = options.connections / 4}));
  return keeper;
}

Keeper::~Keeper() = default;

std::optional<PacketHandler::Answer> Keeper::on_packet(const PacketPeer& from, Message packet) {
  if (from.uid != ::geteuid() && from.uid != 0) return std::nullopt;
  std::vector<int> out;
  Result<Reply> reply = Error{Code::internal, ""};
  auto request = wire::decode_request(text_of(packet));
  if (request.ok()) {
    reply = std::visit(
        [&](const auto& asked) { return serve(from.number, asked, packet.fds, out); }, *request);
  } else {
    reply = std::move(request).error();
  }
  if (!reply.ok()) out.clear();
  return Answer{.bytes = bytes_of(wire::encode(reply)), .kept_fds = std::move(out)};
}

void Keeper::on_closed(std::uint64_t number) {
  forget(book_.gone(number));
}

void Keeper::forget(std::span<const sharing::CopyId> ids) {
  for (const sharing::CopyId id : ids) {
    store_.forget(copies_.at(id).stored, copies_.at(id).slabs.size());
    copies_.forget(id);
  }
}

Result<void> Keeper::restore(StoredCopy left) {
  constexpr sharing::ClientNumber kNobody = 0;  // no connection has this number
  store_.skip(left.name);
  AQUA_ASSIGN(const StoredRecord record, read_record(left));
  Fds none;
  std::vector<int> nothing;
  AQUA_ASSIGN(const Reply opened, serve(kNobody, record.publish, none, nothing));
  const auto refill = [&]() -> Result<void> {
    AQUA_TRY(copies_.add(opened.copy, record.bytes, std::move(left.slabs)));
    std::vector<UniqueFd> manifest;
    manifest.push_back(std::move(left.manifest));
    AQUA_TRY(copies_.set_manifest(opened.copy, std::move(manifest)));
    copies_.at(opened.copy).stored = left.name;
    AQUA_ASSIGN(const auto forgotten, book_.commit(kNobody, opened.copy));
    forget(forgotten);
    return {};
  };
  auto filled = refill();
  if (!filled.ok()) forget(book_.gone(kNobody));
  return filled;
}

bool Keeper::dispensable(std::uint64_t number) const {
  return !book_.knows(number);
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Publish& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  AQUA_TRY(no_descriptors(in));
  AQUA_ASSIGN(const sharing::CopyId copy, book_.open(from, asked.shard, asked.device));
  if (auto begun = copies_.begin(copy); !begun.ok()) {
    (void)book_.drop(from, copy);
    return std::move(begun).error();
  }
  return Reply{.copy = copy};
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Add& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  if (!book_.fills(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller publishes no copy ", asked.copy)};
  }
  AQUA_TRY(copies_.add(asked.copy, asked.bytes, std::move(in)));
  return Reply{.copy = asked.copy};
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Commit& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  if (!book_.fills(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller publishes no copy ", asked.copy)};
  }
  AQUA_TRY(copies_.set_manifest(asked.copy, std::move(in)));
  // Before it shows: a keeper that dies in between leaves it to the next one.
  KeptCopy& kept = copies_.at(asked.copy);
  const auto opened = book_.opened_as(asked.copy);
  store_.keep(kept, {.shard = opened.shard, .device = opened.device});
  auto forgotten = book_.commit(from, asked.copy);
  if (!forgotten.ok()) {
    store_.forget(std::exchange(kept.stored, {}), kept.slabs.size());
    return std::move(forgotten).error();
  }
  forget(*forgotten);
  return Reply{.copy = asked.copy};
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Attach& asked, Fds& in,
                                    std::vector<int>& out) {
  AQUA_TRY(no_descriptors(in));
  AQUA_ASSIGN(const auto attached, book_.attach(from, asked.shard, asked.device));
  const KeptCopy& copy = copies_.at(attached.copy);
  out.push_back(copy.manifest.get());
  return Reply{.copy = attached.copy,
               .version = attached.version,
               .slabs = static_cast<std::uint32_t>(copy.slabs.size()),
               .enforced = copy.enforced};
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Fetch& asked, Fds& in,
                                    std::vector<int>& out) {
  AQUA_TRY(no_descriptors(in));
  if (!book_.reads(from, asked.copy)) {
    return Error{Code::not_found, concat("keeper: the caller does not read copy ", asked.copy)};
  }
  const auto& slabs = copies_.at(asked.copy).slabs;
  Reply reply{.copy = asked.copy};
  const std::size_t end = std::min(slabs.size(), asked.first + wire::kMaxDescriptors);
  for (std::size_t i = asked.first; i < end; ++i) {
    out.push_back(slabs[i].fd.get());
    reply.bytes.push_back(slabs[i].bytes);
  }
  return reply;
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t from, const wire::Detach& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  AQUA_TRY(no_descriptors(in));
  AQUA_ASSIGN(const auto forgotten, book_.detach(from, asked.copy));
  forget(forgotten);
  return Reply{.copy = asked.copy};
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t /*from*/, const wire::ListModels& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  AQUA_TRY(no_descriptors(in));
  Reply reply;
  const auto versions = book_.status();
  for (std::size_t i = asked.first; i < versions.size(); ++i) {
    if (reply.models.size() == wire::kMaxRows) {
      reply.more = true;
      break;
    }
    const sharing::VersionStatus& version = versions[i];
    sharing::ModelStatus row{.model = version.model,
                             .version = version.version,
                             .shards = version.shards,
                             .copies = static_cast<std::uint32_t>(version.copies.size()),
                             .shows = version.shows,
                             .superseded = version.superseded};
    for (const sharing::CopyStatus& copy : version.copies) {
      row.filling += copy.filling ? 1 : 0;
      row.readers += static_cast<std::uint32_t>(copy.readers);
      row.bytes += copies_.at(copy.id).bytes();
    }
    reply.models.push_back(std::move(row));
  }
  return reply;
}

Result<Keeper::Reply> Keeper::serve(std::uint64_t /*from*/, const wire::Retire& asked, Fds& in,
                                    std::vector<int>& /*out*/) {
  AQUA_TRY(no_descriptors(in));
  AQUA_ASSIGN(const auto forgotten, book_.retire(asked.model, asked.version));
  forget(forgotten);
  return Reply{};
}

}  // namespace aqua::keeper
