// SPDX-License-Identifier: Apache-2.0
#include "serve/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "must.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::pipeline {
namespace {

using example::Failure;
using example::Fd;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Whether it can be reached from another host.
bool is_of_network(const std::string& address) {
  return address.find('/') == std::string::npos;
}

SocketAddress of_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) throw Failure(path + ": too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  SocketAddress made{.bytes = sizeof(address)};
  std::memcpy(&made.storage, &address, sizeof(address));
  return made;
}

SocketAddress of_network(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const auto port = parse_between(std::string_view(text).substr(colon + 1), 0U, 65'535U);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (!port.ok() || ::inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1)
    throw Failure(text + ": expected ADDRESS:PORT");
  address.sin_port = htons(static_cast<std::uint16_t>(*port));
  SocketAddress made{.bytes = sizeof(address)};
  std::memcpy(&made.storage, &address, sizeof(address));
  return made;
}

SocketAddress parse(const std::string& address) {
  return is_of_network(address) ? of_network(address) : of_path(address);
}

Fd make_socket(int family, int more) {
  Fd made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | more, 0));
  if (!made.valid()) throw Failure("socket: " + std::generic_category().message(errno));
  constexpr int kOn = 1;  // steps are small, and each is waited for; who is accepted inherits it
  if (family == AF_INET)
    (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof(kOn));
  return made;
}

}  // namespace

Fd listen_at(const std::string& address) {
  constexpr int kBacklog =
      64;  // of a stage's ranks, all of which may connect before one is accepted
  const SocketAddress where = parse(address);
  Fd made = make_socket(where.storage.ss_family, 0);
  if (::bind(made.get(), where.get(), where.bytes) != 0 || ::listen(made.get(), kBacklog) != 0)
    throw Failure(address + ": " + std::generic_category().message(errno));
  return made;
}

std::string address_of(const Fd& listener, const std::string& asked) {
  if (!is_of_network(asked)) return asked;
  sockaddr_in bound{};
  socklen_t bytes = sizeof(bound);
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &bytes) != 0)
    throw Failure(asked + ": " + std::generic_category().message(errno));
  return asked.substr(0, asked.rfind(':') + 1) + std::to_string(ntohs(bound.sin_port));
}

Fd begin_to_connect(const std::string& address) {
  const SocketAddress where = parse(address);
  Fd made = make_socket(where.storage.ss_family, is_of_network(address) ? SOCK_NONBLOCK : 0);
  if (::connect(made.get(), where.get(), where.bytes) != 0 && errno != EINPROGRESS) return {};
  return made;
}

}  // namespace aqua::pipeline
