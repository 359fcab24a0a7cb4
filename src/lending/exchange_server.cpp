// SPDX-License-Identifier: Apache-2.0
#include "lending/exchange_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/errno_error.hpp"
#include "base/try.hpp"
#include "base/unix_socket.hpp"

namespace aqua::lending {
namespace {

constexpr std::chrono::milliseconds kNoWait{0};
constexpr int kAcceptAgainMs = 100;

Reply refuse_all(std::size_t count, Code code) {
  return Reply{std::vector<ReplyEntry>(count, ReplyEntry{to_reply_code(code), 0})};
}

}  // namespace

Result<std::unique_ptr<ExchangeServer>> ExchangeServer::open(const std::string& path,
                                                             ExchangeHandler& handler,
                                                             const ExchangeLimits& limits) {
  SocketFile file(path);
  AQUA_ASSIGN(UniqueFd listener, listen_seqpacket(path));
  file.own();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return errno_error("eventfd");
  return std::unique_ptr<ExchangeServer>(
      new ExchangeServer(std::move(file), std::move(listener), std::move(wake), handler, limits));
}

ExchangeServer::ExchangeServer(SocketFile file, UniqueFd listener, UniqueFd wake,
                               ExchangeHandler& handler, const ExchangeLimits& limits)
    : file_(std::move(file)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      handler_(handler),
      limits_(limits) {
  thread_ = std::thread([this] { run(); });
}

ExchangeServer::~ExchangeServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void ExchangeServer::run() {
  for (;;) {
    // Order in `polled`: wake, listener, connections, peers.
    const short accepting = accept_later_ ? 0 : POLLIN;
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}, {listener_.get(), accepting, 0}};
    for (const auto& connection : connections_) polled.push_back({connection->fd.get(), POLLIN, 0});
    std::vector<ClientId> peers;
    for (const auto& [client, peer] : peers_) {
      polled.push_back({peer.pidfd(), POLLIN, 0});
      peers.push_back(client);
    }
    if (::poll(polled.data(), polled.size(), accept_later_ ? kAcceptAgainMs : -1) < 0)
      continue;  // EINTR
    accept_later_ = false;
    if (polled[0].revents != 0) return;
    const std::size_t served = connections_.size();
    for (std::size_t i = 0; i < served; ++i) {
      if (polled[2 + i].revents != 0 && !serve(*connections_[i])) connections_[i].reset();
    }
    // Deaths last: what a process sent before it died has been heard.
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (polled[2 + served + i].revents == 0) continue;
      forget_dead(peers[i]);
    }
    std::erase_if(connections_, [](const auto& connection) { return connection == nullptr; });
    if (polled[1].revents != 0) accept_one();
  }
}

void ExchangeServer::forget_dead(const ClientId& client) {
  peers_.erase(client);
  // A request of its that still waits in a socket must not be granted to nobody.
  for (auto& connection : connections_) {
    if (connection != nullptr && connection->client == client) connection.reset();
  }
  handler_.on_dead(client);
}

void ExchangeServer::accept_one() {
  auto accepted = accept_seqpacket(listener_.get());
  if (!accepted.ok()) {
    accept_later_ = accepted.error().code != Code::unavailable;
    return;
  }
  const auto peer = peer_credentials(accepted->get());
  if (!peer.ok() || !make_room_for(peer->pid)) return;  // closes it
  auto connection = std::make_unique<Connection>();
  connection->fd = std::move(accepted).value();
  connection->pid = peer->pid;
  connections_.push_back(std::move(connection));
}

bool ExchangeServer::make_room_for(std::int64_t pid) {
  const auto has_pid = [&](const auto& connection) { return connection->pid == pid; };
  if (std::count_if(connections_.begin(), connections_.end(), has_pid) >=
      static_cast<std::ptrdiff_t>(limits_.of_one_process))
    return false;
  if (connections_.size() < limits_.connections) return true;
  const auto oldest =
      std::find_if(connections_.begin(), connections_.end(),
                   [&](const auto& connection) { return !owns_its_id(*connection); });
  if (oldest == connections_.end()) return false;
  connections_.erase(oldest);
  return true;
}

// Waits for nobody: whoever leaves so many answers unread that the next one does not fit is cut
// off. (Borrowers read their answers before they ask again.)
bool ExchangeServer::serve(Connection& connection) {
  auto message = receive_message(connection.fd.get(), kMaxExchangeBytes, kNoWait);
  if (!message.ok() || message->bytes.empty()) return false;
  auto decoded = decode(message->bytes);
  if (!decoded.ok()) return false;
  std::vector<UniqueFd> fds;
  const Reply reply = answer(connection, *decoded, fds);
  std::vector<int> raw;
  raw.reserve(fds.size());
  for (const UniqueFd& fd : fds) raw.push_back(fd.get());
  if (send_message(connection.fd.get(), encode(reply), raw, kNoWait).ok()) return true;
  // Who closes without awaiting our answer may have posted more: that is heard first.
  return peer_has_closed(connection.fd.get());
}

Reply ExchangeServer::answer(Connection& connection, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const auto greeted = greet(connection, hello->client);
    return greeted.ok() ? Reply{{ReplyEntry{}}} : refuse_all(1, greeted.error().code);
  }
  if (const auto* fetched = std::get_if<Fetch>(&message)) return fetch(connection, *fetched, fds);
  if (const auto* back = std::get_if<GiveBack>(&message)) {
    if (!connection.client) return refuse_all(back->entries.size(), Code::failed_precondition);
    if (!owns_its_id(connection)) return refuse_all(back->entries.size(), Code::permission_denied);
    return Reply{handler_.on_give_back(*connection.client, back->entries)};
  }
  return refuse_all(1, Code::invalid_argument);
}

// A connection keeps the id that it began with. Keeps nothing but the connection for a process
// without a grant.
Result<void> ExchangeServer::greet(Connection& connection, const ClientId& client) {
  if (connection.client) {
    if (*connection.client == client) return {};
    return Error{Code::failed_precondition, "hello: this connection has another client id"};
  }
  AQUA_ASSIGN(const PeerProcess peer, PeerProcess::of_socket(connection.fd.get()));
  if (peer.uid() != ::geteuid() && peer.uid() != 0) {
    return Error{Code::permission_denied, "hello: another user's process"};
  }
  const auto known = peers_.find(client);
  if (known != peers_.end() && !known->second.same_process(peer)) {
    return Error{Code::permission_denied, "hello: another live process has this client id"};
  }
  connection.client = client;
  connection.process = peer.identity();
  return {};
}

// Opens the process before it is granted anything: a slab must not be held by one whose death could
// not be proven.
Reply ExchangeServer::fetch(const Connection& connection, const Fetch& request,
                            std::vector<UniqueFd>& fds) {
  if (!connection.client) return refuse_all(request.entries.size(), Code::failed_precondition);
  if (peers_.contains(*connection.client)) {
    if (!owns_its_id(connection))
      return refuse_all(request.entries.size(), Code::permission_denied);
    return Reply{handler_.on_fetch(*connection.client, request.entries, fds)};
  }
  const auto same = [&](const auto& peer) { return peer.second.identity() == connection.process; };
  if (std::count_if(peers_.begin(), peers_.end(), same) >=
      static_cast<std::ptrdiff_t>(limits_.of_one_process))
    return refuse_all(request.entries.size(), Code::resource_exhausted);
  auto peer = PeerProcess::of_socket(connection.fd.get());
  if (!peer.ok()) return refuse_all(request.entries.size(), peer.error().code);
  Reply reply{handler_.on_fetch(*connection.client, request.entries, fds)};
  if (reply.entries.front().code == 0) peers_.emplace(*connection.client, *std::move(peer));
  return reply;
}

bool ExchangeServer::owns_its_id(const Connection& connection) const {
  if (!connection.client) return false;
  const auto known = peers_.find(*connection.client);
  return known != peers_.end() && known->second.identity() == connection.process;
}

}  // namespace aqua::lending
