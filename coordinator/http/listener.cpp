// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/listener.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tools/daemon/absolute_path.hpp"

namespace aqua::coordinator {
namespace {

Error not_a_socket(const std::string& path) {
  return Error{Code::already_exists, concat("listen: ", path, " exists and is not a socket")};
}

// Removes a socket file that nobody listens on. Two daemons that start at one moment with
// different data directories and one path are not told apart; the lock of the data
// directory is what keeps daemons apart.
Result<void> remove_stale(const wire::Address& address) {
  struct stat info {};
  if (::lstat(address.path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return errno_error(concat("listen: ", address.path));
  }
  if (!S_ISSOCK(info.st_mode)) return not_a_socket(address.path);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return errno_error("socket");
  const wire::SocketAddress target = wire::socket_address(address);
  if (::connect(probe.get(), target.get(), target.length) != 0 && errno == ECONNREFUSED) {
    if (::unlink(address.path.c_str()) != 0)
      return errno_error(concat("remove stale socket ", address.path));
    return {};
  }
  return Error{Code::already_exists,
               concat("listen: somebody listens on ", address.path, " already")};
}

Result<std::uint16_t> port_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return errno_error("getsockname");
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
  return ntohs(storage.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

// The group first: the file is private until it has the right one.
Result<void> open_to(const std::string& path, const SocketAccess& access) {
  if (access.group && ::chown(path.c_str(), static_cast<uid_t>(-1), *access.group) != 0)
    return errno_error(concat("chown ", path, " to group ", *access.group));
  if (::chmod(path.c_str(), access.mode) != 0) return errno_error(concat("chmod ", path));
  return {};
}

// already_exists where somebody listens.
Result<UniqueFd> bind_stream(const wire::Address& address) {
  const wire::SocketAddress target = wire::socket_address(address);
  UniqueFd bound(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = bound.get();
  if (fd < 0) return errno_error("socket");
  const int on = 1;
  if (!address.is_unix()) {
    // Not SO_REUSEPORT: two daemons would share a port in silence.
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
      return errno_error("SO_REUSEADDR");
    // Linux hands it on to what is accepted: replies and handshakes wait for no acknowledgement.
    if (::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
      return errno_error("TCP_NODELAY");
  }
  if (::bind(fd, target.get(), target.length) != 0) {
    if (errno == EADDRINUSE) {
      return Error{Code::already_exists,
                   concat("listen: somebody listens on ", to_string(address), " already")};
    }
    return errno_error(concat("bind ", to_string(address)));
  }
  return bound;
}

}  // namespace

Result<Listener> listen_stream(const wire::Address& address, const SocketAccess& access) {
  if (address.is_unix()) AQUA_TRY(remove_stale(address));
  AQUA_ASSIGN(UniqueFd bound, bind_stream(address));
  Listener listener{std::move(bound), address};
  const int fd = listener.fd.get();
  if (address.is_unix()) {
    AQUA_TRY(open_to(address.path, access));
  } else {
    AQUA_ASSIGN(listener.address.port, port_of(fd));
  }
  if (::listen(fd, SOMAXCONN) != 0) return errno_error(concat("listen ", to_string(address)));
  return listener;
}

Result<UniqueFd> listen_lifeline(const std::string& path, const SocketAccess& access) {
  AQUA_TRY(remove_stale({.path = path, .host = {}, .port = 0}));
  AQUA_ASSIGN(UniqueFd fd, listen_seqpacket(path));
  AQUA_TRY(open_to(path, access));
  return fd;
}

Result<void> check_listen(const wire::Address& address) {
  if (!address.is_unix()) {
    const auto bound = bind_stream(address);
    if (bound.ok() || bound.error().code == Code::already_exists) return {};
    return bound.error();
  }
  const auto directory = daemon::folder_of(address.path);
  struct stat info {};
  if (::lstat(address.path.c_str(), &info) == 0) {
    if (S_ISSOCK(info.st_mode)) return {};
    return not_a_socket(address.path);
  }
  if (errno == ENOENT && ::access(directory.c_str(), W_OK | X_OK) == 0) return {};
  return errno_error(concat("bind ", to_string(address)));
}

}  // namespace aqua::coordinator
