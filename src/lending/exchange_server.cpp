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

constexpr std::chrono::milliseconds kSendPatience{
    100};  // a reply fits the queue of a peer that reads
constexpr int kAcceptAgainMs = 100;

Reply refuse_all(std::size_t count, Code code) {
  return Reply{std::vector<ReplyEntry>(count, ReplyEntry{to_reply_code(code), 0})};
}

}  // namespace

Result<std::unique_ptr<ExchangeServer>> ExchangeServer::open(const std::string& path,
                                                             ExchangeHandler& handler) {
  SocketFile file(path);
  AQUA_ASSIGN(UniqueFd listener, listen_seqpacket(path));
  file.own();
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return errno_error("eventfd");
  return std::unique_ptr<ExchangeServer>(
      new ExchangeServer(std::move(file), std::move(listener), std::move(wake), handler));
}

ExchangeServer::ExchangeServer(SocketFile file, UniqueFd listener, UniqueFd wake,
                               ExchangeHandler& handler)
    : file_(std::move(file)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      handler_(handler) {
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
  if (connections_.size() >= kMaxConnections) return;  // closes it
  auto connection = std::make_unique<Connection>();
  connection->fd = std::move(accepted).value();
  connections_.push_back(std::move(connection));
}

bool ExchangeServer::serve(Connection& connection) {
  auto message =
      receive_message(connection.fd.get(), kMaxExchangeBytes, std::chrono::milliseconds{0});
  if (!message.ok() || message->bytes.empty()) return false;
  auto decoded = decode(message->bytes);
  if (!decoded.ok()) return false;
  std::vector<UniqueFd> fds;
  const Reply reply = answer(connection, *decoded, fds);
  std::vector<int> raw;
  raw.reserve(fds.size());
  for (const UniqueFd& fd : fds) raw.push_back(fd.get());
  if (send_message(connection.fd.get(), encode(reply), raw, kSendPatience).ok()) return true;
  // Who closes without awaiting our answer may have posted more: that is heard first.
  return peer_has_closed(connection.fd.get());
}

Reply ExchangeServer::answer(Connection& connection, const ExchangeMessage& message,
                             std::vector<UniqueFd>& fds) {
  if (const auto* hello = std::get_if<Hello>(&message)) {
    const auto greeted = greet(connection, hello->client);
    return greeted.ok() ? Reply{{ReplyEntry{}}} : refuse_all(1, greeted.error().code);
  }
  if (const auto* fetch = std::get_if<Fetch>(&message)) {
    if (!connection.client) return refuse_all(fetch->entries.size(), Code::failed_precondition);
    return Reply{handler_.on_fetch(*connection.client, fetch->entries, fds)};
  }
  if (const auto* back = std::get_if<GiveBack>(&message)) {
    if (!connection.client) return refuse_all(back->entries.size(), Code::failed_precondition);
    return Reply{handler_.on_give_back(*connection.client, back->entries)};
  }
  return refuse_all(1, Code::invalid_argument);
}

Result<void> ExchangeServer::greet(Connection& connection, const ClientId& client) {
  AQUA_ASSIGN(PeerProcess peer, PeerProcess::of_socket(connection.fd.get()));
  if (peer.uid() != ::getuid() && peer.uid() != 0) {
    return Error{Code::permission_denied, "hello: another user's process"};
  }
  const auto known = peers_.find(client);
  if (known == peers_.end()) {
    peers_.emplace(client, std::move(peer));
  } else if (!known->second.same_process(peer)) {
    return Error{Code::permission_denied, "hello: another live process has this client id"};
  }
  connection.client = client;
  return {};
}

}  // namespace aqua::lending
