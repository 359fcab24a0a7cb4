// SPDX-License-Identifier: Apache-2.0
#include "lending/exchange_server.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/try.hpp"

namespace aqua::lending {
namespace {

Reply refuse_all(std::size_t count, Code code) {
  return Reply{std::vector<ReplyEntry>(count, ReplyEntry{to_reply_code(code), 0})};
}

}  // namespace

Result<std::unique_ptr<ExchangeServer>> ExchangeServer::open(const std::string& path,
                                                             ExchangeHandler& handler,
                                                             const ExchangeLimits& limits) {
  std::unique_ptr<ExchangeServer> server(new ExchangeServer(handler, limits));
  AQUA_ASSIGN(server->server_, PacketServer::open(path, *server,
                                                  {.packet_bytes = kMaxExchangeBytes,
                                                   .connections = limits.connections,
                                                   .of_one_process = limits.of_one_process}));
  return server;
}

std::vector<int> ExchangeServer::watched() const {
  std::vector<int> pidfds;
  pidfds.reserve(peers_.size());
  for (const auto& [id, peer] : peers_) pidfds.push_back(peer.pidfd());
  return pidfds;
}

// A process has died; what it sent before has been heard.
void ExchangeServer::on_readable(PacketServer& server, int fd) {
  const auto dead = std::find_if(peers_.begin(), peers_.end(),
                                 [&](const auto& peer) { return peer.second.pidfd() == fd; });
  if (dead == peers_.end()) return;
  const ClientId id = dead->first;
  peers_.erase(dead);
  // A request of its that still waits in a socket must not be granted to nobody.
  std::vector<std::uint64_t> left;
  for (const auto& [number, client] : clients_) {
    if (client.id == id) left.push_back(number);
  }
  for (const std::uint64_t number : left) server.close(number);
  handler_.on_dead(id);
}

bool ExchangeServer::dispensable(std::uint64_t number) const {
  const Client* const client = client_of(number);
  return client == nullptr || !owns_its_id(*client);
}

const ExchangeServer::Client* ExchangeServer::client_of(std::uint64_t number) const {
  const auto found = clients_.find(number);
  return found == clients_.end() ? nullptr : &found->second;
}

std::optional<PacketHandler::Answer> ExchangeServer::on_packet(const PacketPeer& from,
                                                               Message packet) {
  const auto decoded = decode(packet.bytes);
  if (!decoded.ok()) return std::nullopt;
  Answer made;
  made.bytes = encode(answer(from, *decoded, made.fds));
  return made;
}

Reply ExchangeServer::answer(const PacketPeer& from, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const auto greeted = greet(from, hello->client);
    return greeted.ok() ? Reply{{ReplyEntry{}}} : refuse_all(1, greeted.error().code);
  }
  if (const auto* fetched = std::get_if<Fetch>(&message)) return fetch(from, *fetched, fds);
  if (const auto* back = std::get_if<GiveBack>(&message)) {
    const Client* const client = client_of(from.number);
    const std::size_t count = back->entries.size();
    if (client == nullptr) return refuse_all(count, Code::failed_precondition);
    if (!owns_its_id(*client)) return refuse_all(count, Code::permission_denied);
    return Reply{handler_.on_give_back(client->id, back->entries)};
  }
  return refuse_all(1, Code::invalid_argument);
}

// A connection keeps the id that it began with. Keeps nothing but the connection for a process
// without a grant.
Result<void> ExchangeServer::greet(const PacketPeer& from, const ClientId& id) {
  if (const Client* const client = client_of(from.number)) {
    if (client->id == id) return {};
    return Error{Code::failed_precondition, "hello: this connection has another client id"};
  }
  AQUA_ASSIGN(const PeerProcess peer, PeerProcess::of_socket(from.fd, PidNamespace::any));
  if (peer.uid() != ::geteuid() && peer.uid() != 0) {
    return Error{Code::permission_denied, "hello: another user's process"};
  }
  const auto known = peers_.find(id);
  if (known != peers_.end() && !known->second.same_process(peer)) {
    return Error{Code::permission_denied, "hello: another live process has this client id"};
  }
  clients_.emplace(from.number, Client{id, peer.identity()});
  return {};
}

// Opens the process before it is granted anything: a slab must not be held by one whose death could
// not be proven.
Reply ExchangeServer::fetch(const PacketPeer& from, const Fetch& request,
                            std::vector<UniqueFd>& fds) {
  const std::size_t count = request.entries.size();
  const Client* const client = client_of(from.number);
  if (client == nullptr) return refuse_all(count, Code::failed_precondition);
  if (peers_.contains(client->id)) {
    if (!owns_its_id(*client)) return refuse_all(count, Code::permission_denied);
    return Reply{handler_.on_fetch(client->id, request.entries, fds)};
  }
  const auto same = [&](const auto& peer) { return peer.second.identity() == client->process; };
  if (std::count_if(peers_.begin(), peers_.end(), same) >=
      static_cast<std::ptrdiff_t>(limits_.of_one_process))
    return refuse_all(count, Code::resource_exhausted);
  auto peer = PeerProcess::of_socket(from.fd, PidNamespace::any);
  if (!peer.ok()) return refuse_all(count, peer.error().code);
  Reply reply{handler_.on_fetch(client->id, request.entries, fds)};
  if (reply.entries.front().code == 0) peers_.emplace(client->id, *std::move(peer));
  return reply;
}

bool ExchangeServer::owns_its_id(const Client& client) const {
  const auto known = peers_.find(client.id);
  return known != peers_.end() && known->second.identity() == client.process;
}

}  // namespace aqua::lending
