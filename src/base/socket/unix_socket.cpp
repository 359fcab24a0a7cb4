// SPDX-License-Identifier: Apache-2.0
#include "base/socket/unix_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"

namespace aqua {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{Code::invalid_argument,
                 concat("socket path of ", path.size(), " characters: must be 1 to ",
                        sizeof address.sun_path - 1, ": ", path)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<UniqueFd> new_socket(int flags) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!fd.valid()) return errno_error("socket");
  return fd;
}

const sockaddr* as_sockaddr(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Waits until `fd` is ready for `events`; false when `deadline` has passed.
Result<bool> wait_ready(int fd, short events, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max());
    pollfd poll_fd{fd, events, 0};
    const int n = ::poll(&poll_fd, 1, static_cast<int>(ms));
    if (n > 0) return true;
    if (n == 0 && ms >= left.count()) return false;
    if (n < 0 && errno != EINTR) return errno_error("poll");
  }
}

}  // namespace

Result<UniqueFd> listen_seqpacket(const std::string& path) {
  AQUA_ASSIGN(const sockaddr_un address, address_of(path));
  AQUA_ASSIGN(UniqueFd fd, new_socket(SOCK_NONBLOCK));
  if (::bind(fd.get(), as_sockaddr(address), sizeof address) != 0) {
    if (errno != EADDRINUSE) return errno_error(concat("bind ", path));
    const auto probe = connect_seqpacket(path);
    // Only a refusal proves that nobody listens: a socket of another type is refused otherwise.
    if (probe.ok() || probe.error().code != Code::unavailable) {
      return Error{Code::already_exists, concat("bind ", path, ": somebody listens there")};
    }
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
      return Error{Code::already_exists,
                   concat("bind ", path, ": a file that is no socket is in the way")};
    }
    ::unlink(path.c_str());
    if (::bind(fd.get(), as_sockaddr(address), sizeof address) != 0)
      return errno_error(concat("bind ", path));
  }
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return errno_error(concat("chmod ", path));
  if (::listen(fd.get(), SOMAXCONN) != 0) return errno_error(concat("listen ", path));
  return fd;
}

Result<UniqueFd> connect_seqpacket(const std::string& path, std::chrono::milliseconds patience) {
  AQUA_ASSIGN(const sockaddr_un address, address_of(path));
  AQUA_ASSIGN(UniqueFd fd, new_socket(0));
  const timeval limit{patience.count() / 1000, patience.count() % 1000 * 1000};
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0)
    return errno_error("setsockopt");
  if (::connect(fd.get(), as_sockaddr(address), sizeof address) != 0) {
    const int error = errno;
    if (error == ENOENT || error == ECONNREFUSED) {
      return Error{Code::unavailable,
                   concat("connect ", path, ": ", std::generic_category().message(error))};
    }
    if (error == EAGAIN)
      return Error{Code::deadline_exceeded, concat("connect ", path, ": its queue stays full")};
    return errno_error(concat("connect ", path));
  }
  return fd;
}

Result<UniqueFd> accept_seqpacket(int listener) {
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (fd.valid()) return fd;
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
    return Error{Code::unavailable, "accept: no connection waits"};
  }
  return errno_error("accept");
}

Result<void> send_message(int fd, std::span<const std::byte> bytes, std::span<const int> fds,
                          std::chrono::milliseconds patience) {
  if (fds.size() > kMaxMessageFds) {
    return Error{Code::invalid_argument,
                 concat("send: ", fds.size(), " descriptors, at most ", kMaxMessageFds)};
  }
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  std::vector<std::byte> control(fds.empty() ? 0 : CMSG_SPACE(fds.size_bytes()));
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* cmsg = CMSG_FIRSTHDR(&header);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(cmsg), fds.data(), fds.size_bytes());
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    AQUA_ASSIGN(const bool ready, wait_ready(fd, POLLOUT, deadline));
    if (!ready) return Error{Code::unavailable, "send: the other side does not read"};
    const ssize_t n = ::sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return {};
    if (errno == EPIPE || errno == ECONNRESET) {
      return Error{Code::unavailable, "send: the other side has closed"};
    }
    if (errno != EINTR && errno != EAGAIN) return errno_error("sendmsg");
  }
}

Result<Message> receive_message(int fd, std::size_t max_bytes, std::chrono::milliseconds patience) {
  AQUA_ASSIGN(const bool ready,
              wait_ready(fd, POLLIN, std::chrono::steady_clock::now() + patience));
  if (!ready)
    return Error{Code::deadline_exceeded,
                 concat("receive: nothing came in ", patience.count(), " ms")};
  Message message;
  message.bytes.resize(max_bytes);
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
  iovec part{message.bytes.data(), message.bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    // Tries again after ECONNRESET, which is reported once when the other side closed with messages
    // of ours unread: what it had sent before can still be received.
  } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
  if (n < 0) return errno_error("recvmsg");
  // Takes the descriptors before it judges the message, so that a refused message leaks none.
  for (cmsghdr* cmsg = CMSG_FIRSTHDR(&header); cmsg != nullptr; cmsg = CMSG_NXTHDR(&header, cmsg)) {
    if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(cmsg) + i * sizeof(int), sizeof received);
      message.fds.emplace_back(received);
    }
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    return Error{Code::resource_exhausted,
                 "receive: descriptors were cut off: this process has no free ones"};
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return Error{Code::invalid_argument,
                 concat("receive: a message longer than ", max_bytes, " bytes")};
  }
  message.bytes.resize(static_cast<std::size_t>(n));
  return message;
}

Result<ucred> peer_credentials(int fd) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return errno_error("SO_PEERCRED");
  return credentials;
}

Result<void> check_listener(int fd, std::string_view what) {
  AQUA_ASSIGN(const ucred listener, peer_credentials(fd));
  if (listener.uid == ::geteuid() || listener.uid == 0) return {};
  return Error{Code::permission_denied, concat(what, " is user ", listener.uid,
                                               "'s, and this process is user ", ::geteuid(), "'s")};
}

bool peer_has_closed(int fd) {
  pollfd poll_fd{fd, 0, 0};
  return ::poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLHUP) != 0;
}

}  // namespace aqua
