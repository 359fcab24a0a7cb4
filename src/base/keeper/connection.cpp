// SPDX-License-Identifier: Apache-2.0
#include "base/keeper/connection.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/errno_error.hpp"
#include "base/own_directory.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

std::string path_or_default(const std::string& path) {
  if (!path.empty()) return path;
  return environment("AQUA_KEEPER", concat(default_own_directory(), "/keeper.sock"));
}

Error away(const std::string& path, const Error& why) {
  return Error{Code::unavailable, concat("keeper: ", path, ": ", why.message)};
}

Error has_closed(const std::string& path) {
  return Error{Code::unavailable, concat("keeper: ", path, " has closed")};
}

// It closes the connections of users that it does not serve.
std::string whom_it_serves(int fd) {
  const auto keeper = peer_credentials(fd);
  if (!keeper.ok() || keeper->uid == ::geteuid() || ::geteuid() == 0) return "";
  const std::string whom = keeper->uid == 0 ? "root" : concat("user ", keeper->uid, " and root");
  return concat(": it serves ", whom, " alone, and this process is user ", ::geteuid(), "'s");
}

}  // namespace

std::string_view text_of(const Message& packet) {
  return {reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()};
}

Result<KeeperConnection> KeeperConnection::connect(const std::string& path) {
  std::string at = path_or_default(path);
  auto fd = connect_seqpacket(at, kPatience);
  if (!fd.ok() && fd.error().code == Code::invalid_argument) return std::move(fd).error();
  if (!fd.ok()) {
    const bool denied = fd.error().code == Code::permission_denied;
    return Error{denied ? Code::permission_denied : Code::unavailable,
                 concat("keeper: ", fd.error().message,
                        ": aqua-keeper is to run as this user, and to have its socket there "
                        "(AQUA_KEEPER says where)")};
  }
  AQUA_TRY(check_listener(fd->get(), concat("keeper: ", at)));
  return KeeperConnection(std::move(at), std::move(fd).value());
}

Result<Message> KeeperConnection::exchange(const std::string& text, std::span<const int> fds,
                                           std::chrono::milliseconds patience) {
  if (!fd_.valid()) return Error{Code::unavailable, concat("keeper: ", path_, ": no connection")};
  if (auto sent = send_message(fd_.get(), std::as_bytes(std::span(text)), fds, patience);
      !sent.ok()) {
    fd_.reset();
    return away(path_, sent.error());
  }
  auto message = receive_message(fd_.get(), keeper_wire::kMaxPacket, patience);
  if (!message.ok() || message->bytes.empty()) {
    const std::string whom = whom_it_serves(fd_.get());
    // A late answer would be taken for that to the next request.
    fd_.reset();
    if (message.ok()) {
      return Error{whom.empty() ? Code::unavailable : Code::permission_denied,
                   has_closed(path_).message + whom};
    }
    if (message.error().code == Code::resource_exhausted) return std::move(message).error();
    return away(path_, message.error());
  }
  return message;
}

Result<bool> KeeperConnection::wait_for(int event,
                                        std::chrono::steady_clock::time_point deadline) const {
  if (!fd_.valid()) return has_closed(path_);
  std::array<pollfd, 2> polled{pollfd{event, POLLIN, 0}, pollfd{fd_.get(), POLLIN, 0}};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max());
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(ms));
    if (ready < 0 && errno != EINTR) return errno_error("poll");
    if (ready > 0 && polled[0].revents != 0) return true;
    if (ready > 0) return has_closed(path_);  // it says nothing unasked
    if (ready == 0 && ms >= left.count()) return false;
  }
}

}  // namespace aqua
