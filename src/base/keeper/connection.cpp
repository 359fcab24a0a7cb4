// SPDX-License-Identifier: Apache-2.0
#include "base/keeper/connection.hpp"

#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/environment.hpp"
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

}  // namespace

std::string_view text_of(const Message& packet) {
  return {reinterpret_cast<const char*>(packet.bytes.data()), packet.bytes.size()};
}

Result<KeeperConnection> KeeperConnection::connect(const std::string& path) {
  std::string at = path_or_default(path);
  auto fd = connect_seqpacket(at, kPatience);
  if (!fd.ok() && fd.error().code == Code::invalid_argument) return std::move(fd).error();
  if (!fd.ok()) {
    return Error{Code::unavailable, concat("keeper: ", fd.error().message,
                                           ": aqua-keeper is to run as this user, and to have its "
                                           "socket there (AQUA_KEEPER says where)")};
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
    // A late answer would be taken for that to the next request.
    fd_.reset();
    if (message.ok()) return Error{Code::unavailable, concat("keeper: ", path_, " has closed")};
    if (message.error().code == Code::resource_exhausted) return std::move(message).error();
    return away(path_, message.error());
  }
  return message;
}

}  // namespace aqua
