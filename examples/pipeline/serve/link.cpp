// SPDX-License-Identifier: Apache-2.0
#include "serve/link.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <system_error>

namespace aqua::pipeline {
namespace {

using example::Failure;
using example::Fd;

std::string reason() {
  return std::generic_category().message(errno);
}

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.native().size() >= sizeof(address.sun_path))
    throw Failure(path.native() + ": too long for a socket");
  std::memcpy(address.sun_path, path.c_str(), path.native().size() + 1);
  return address;
}

Fd make_socket() {
  Fd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!made.valid()) throw Failure("socket: " + reason());
  return made;
}

}  // namespace

Link Link::connect(std::string peer, const std::filesystem::path& socket) {
  Fd made = make_socket();
  const sockaddr_un address = address_of(socket);
  if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw NeighbourGone(peer + " cannot be reached: " + reason());
  return {std::move(peer), std::move(made)};
}

void Link::await(short events) const {
  constexpr int kForEver = -1, kOneWait = 20;  // milliseconds; then the other thing is looked at
  pollfd waiting{socket_.get(), events, 0};
  while (::poll(&waiting, 1, meanwhile_ ? kOneWait : kForEver) <= 0) {
    if (meanwhile_) meanwhile_();
  }
}

void Link::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put =
        ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    } else if (errno == EAGAIN) {
      await(POLLOUT);
    } else if (errno != EINTR) {
      throw NeighbourGone(peer_ + " hears no more: " + reason());
    }
  }
}

void Link::receive(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      await(POLLIN);
    } else if (got == 0 || errno != EINTR) {
      throw NeighbourGone(peer_ + " is gone: " + (got == 0 ? "closed" : reason()));
    }
  }
}

Listener::Listener(const std::filesystem::path& socket) : socket_(make_socket()) {
  constexpr int kBacklog =
      64;  // of a stage's ranks, all of which may connect before one is accepted
  const sockaddr_un address = address_of(socket);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket_.get(), kBacklog) != 0) {
    throw Failure(socket.native() + ": " + reason());
  }
}

Link Listener::accept(const Orders& orders) {
  for (;;) {
    pollfd waiting[]{{socket_.get(), POLLIN, 0}, {orders.fd(), POLLIN, 0}};
    if (!orders.has_read()) (void)::poll(waiting, std::size(waiting), -1);
    if (orders.has_read() || waiting[1].revents != 0)
      throw NeighbourGone("a neighbour does not come");
    if ((waiting[0].revents & POLLIN) == 0) continue;  // a signal
    Fd made(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (made.valid()) return {"a neighbour", std::move(made)};
    if (errno != EINTR) throw Failure("accept: " + reason());
  }
}

}  // namespace aqua::pipeline
