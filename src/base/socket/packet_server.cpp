// SPDX-License-Identifier: Apache-2.0
#include "base/socket/packet_server.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/try.hpp"
#include "base/wake_event.hpp"

namespace aqua {
namespace {

constexpr std::chrono::milliseconds kNoWait{0};
constexpr int kAcceptAgainMs = 100;

// Asked once more behind the packets that were served: they may have closed the descriptor, and its
// number may be another one's by now.
bool is_readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & POLLNVAL) == 0;
}

}  // namespace

Result<std::unique_ptr<PacketServer>> PacketServer::open(const std::string& path,
                                                         PacketHandler& handler,
                                                         const PacketLimits& limits) {
  SocketFile file(path);
  AQUA_ASSIGN(UniqueFd listener, listen_seqpacket(path));
  file.own();
  AQUA_ASSIGN(UniqueFd wake, make_wake_event());
  return std::unique_ptr<PacketServer>(
      new PacketServer(std::move(file), std::move(listener), std::move(wake), handler, limits));
}

PacketServer::PacketServer(SocketFile file, UniqueFd listener, UniqueFd wake,
                           PacketHandler& handler, const PacketLimits& limits)
    : file_(std::move(file)),
      listener_(std::move(listener)),
      wake_(std::move(wake)),
      handler_(handler),
      limits_(limits) {
  thread_ = std::thread([this] { run(); });
}

PacketServer::~PacketServer() {
  signal_event(wake_.get());
  thread_.join();
}

void PacketServer::run() {
  for (;;) {
    // Order in `polled`: wake, listener, connections, what the handler watches.
    const short accepting = accept_later_ ? 0 : POLLIN;
    std::vector<pollfd> polled{{wake_.get(), POLLIN, 0}, {listener_.get(), accepting, 0}};
    for (const Connection& connection : connections_) {
      polled.push_back({connection.fd.get(), POLLIN, 0});
    }
    for (const int fd : handler_.watched()) polled.push_back({fd, POLLIN, 0});
    if (::poll(polled.data(), polled.size(), accept_later_ ? kAcceptAgainMs : -1) < 0)
      continue;  // EINTR
    accept_later_ = false;
    if (polled[0].revents != 0) return;
    const std::size_t served = connections_.size();
    for (std::size_t i = 0; i < served; ++i) {
      if (polled[2 + i].revents != 0 && !serve(connections_[i])) end(connections_[i]);
    }
    for (std::size_t i = 2 + served; i < polled.size(); ++i) {
      if (polled[i].revents != 0 && is_readable(polled[i].fd)) {
        handler_.on_readable(*this, polled[i].fd);
      }
    }
    std::erase_if(connections_, [](const Connection& c) { return !c.fd.valid(); });
    if (polled[1].revents != 0) accept_one();
  }
}

void PacketServer::close(std::uint64_t number) {
  for (Connection& connection : connections_) {
    if (connection.peer.number == number && connection.fd.valid()) end(connection);
  }
}

void PacketServer::end(Connection& connection) {
  connection.fd.reset();
  handler_.on_closed(connection.peer.number);
}

void PacketServer::accept_one() {
  auto accepted = accept_seqpacket(listener_.get());
  if (!accepted.ok()) {
    accept_later_ = accepted.error().code != Code::unavailable;
    return;
  }
  const auto peer = peer_credentials(accepted->get());
  if (!peer.ok() || !make_room_for(peer->pid)) return;  // closes it
  const PacketPeer known{
      .number = ++last_, .fd = accepted->get(), .pid = peer->pid, .uid = peer->uid};
  connections_.push_back({known, std::move(accepted).value()});
}

bool PacketServer::make_room_for(std::int64_t pid) {
  const auto of_pid = std::count_if(connections_.begin(), connections_.end(),
                                    [&](const Connection& c) { return c.peer.pid == pid; });
  if (of_pid >= static_cast<std::ptrdiff_t>(limits_.of_one_process)) return false;
  if (connections_.size() < limits_.connections) return true;
  const auto oldest =
      std::find_if(connections_.begin(), connections_.end(),
                   [&](const Connection& c) { return handler_.dispensable(c.peer.number); });
  if (oldest == connections_.end()) return false;
  end(*oldest);
  connections_.erase(oldest);
  return true;
}

bool PacketServer::serve(const Connection& connection) {
  const int fd = connection.fd.get();
  auto packet = receive_message(fd, limits_.packet_bytes, kNoWait);
  if (!packet.ok() || packet->bytes.empty()) return false;
  const auto answer = handler_.on_packet(connection.peer, std::move(packet).value());
  if (!answer) return false;
  std::vector<int> raw;
  raw.reserve(answer->fds.size() + answer->kept_fds.size());
  for (const UniqueFd& one : answer->fds) raw.push_back(one.get());
  raw.insert(raw.end(), answer->kept_fds.begin(), answer->kept_fds.end());
  if (send_message(fd, answer->bytes, raw, kNoWait).ok()) return true;
  // Who closes without awaiting our answer may have posted more: that is heard first.
  return peer_has_closed(fd);
}

}  // namespace aqua
