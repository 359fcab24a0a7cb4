// SPDX-License-Identifier: Apache-2.0
#include "tools/courier/net/sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/try.hpp"

namespace aqua::courier {
namespace {

using Clock = std::chrono::steady_clock;
using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Error away(const std::string& address, std::string_view why) {
  return Error{Code::unavailable, concat("courier: ", address, ": ", why)};
}

Result<Found> look_up(const std::string& address, int flags) {
  AQUA_ASSIGN(const Address parsed, parse_address(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(parsed.host.c_str(), parsed.port.c_str(), &hints, &found);
  if (error != 0) return away(address, ::gai_strerror(error));
  return Found(found, &::freeaddrinfo);
}

void set(int socket, int level, int name, int value) {
  (void)::setsockopt(socket, level, name, &value, sizeof value);
}

// Small messages go at once.
void tune(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

Result<UniqueFd> connect_one(const addrinfo& to, const std::string& address,
                             Clock::time_point until, int stop) {
  UniqueFd socket(
      ::socket(to.ai_family, to.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to.ai_protocol));
  if (!socket.valid()) return errno_error("courier: socket");
  tune(socket.get());
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return away(address, errno_error("connect").message);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    const auto ready = wait_until(socket.get(), POLLOUT, left, stop);
    if (!ready.ok() && ready.error().code == Code::cancelled) return ready.error();
    if (!ready.ok()) return away(address, "nobody answers");
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) return away(address, errno_error("connect").message);
  }
  return socket;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view port = colon == text.npos ? "" : text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (!host.empty() && error == std::errc{} && end == port.data() + port.size()) {
    return Address{std::string(host), std::string(port)};
  }
  return Error{Code::invalid_argument,
               concat("courier: '", text.substr(0, 80), "' is not HOST:PORT")};
}

Result<void> wait_until(int socket, short events, std::chrono::milliseconds patience, int stop) {
  const auto until = Clock::now() + patience;
  for (;;) {
    std::array<pollfd, 2> watched{{{socket, events, 0}, {stop, POLLIN, 0}}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno_error("courier: poll");
    if (watched[1].revents != 0) return Error{Code::cancelled, "courier: stopping"};
    if (watched[0].revents != 0) return {};
    return Error{Code::unavailable, "courier: nothing has moved for too long"};
  }
}

Result<UniqueFd> connect_to(const std::string& address, std::chrono::milliseconds patience,
                            int stop) {
  AQUA_ASSIGN(const Found found, look_up(address, 0));
  const auto until = Clock::now() + patience;
  Result<UniqueFd> socket = away(address, "no address");
  int left = 0;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) ++left;
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    // A share for each: one that swallows packets leaves time for the others.
    const auto now = Clock::now();
    socket = connect_one(*each, address, now + (until - now) / left--, stop);
    if (socket.ok() || socket.error().code == Code::cancelled) break;
  }
  return socket;
}

Result<UniqueFd> listen_at(const std::string& address) {
  AQUA_ASSIGN(const Found found, look_up(address, AI_PASSIVE));
  UniqueFd socket(::socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           found->ai_protocol));
  if (!socket.valid()) return errno_error("courier: socket");
  const int yes = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return away(address, errno_error("listen").message);
  }
  return socket;
}

void give_up_after(int socket, std::chrono::seconds patience) {
  constexpr int kQuestions = 3;
  const auto seconds = static_cast<int>(patience.count());
  const int pause = std::max(1, seconds / (kQuestions + 1));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, pause);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, pause);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kQuestions);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000 * seconds);
}

int port_of(int listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

Result<UniqueFd> accept_next(int listener, int stop) {
  for (;;) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      tune(socket.get());
      return socket;
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      return errno_error("courier: accept");
    }
    const auto ready = wait_until(listener, POLLIN, std::chrono::hours(1), stop);
    if (!ready.ok() && ready.error().code == Code::cancelled) return ready.error();
  }
}

bool has_rdma_device() {
  std::error_code none;
  std::filesystem::directory_iterator devices("/sys/class/infiniband", none);
  return !none && devices != std::filesystem::directory_iterator();
}

}  // namespace aqua::courier
