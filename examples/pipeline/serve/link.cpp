// SPDX-License-Identifier: Apache-2.0
#include "serve/link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <system_error>

#include "serve/address.hpp"

namespace aqua::pipeline {
namespace {

using example::Failure;
using example::Fd;

std::string reason(int error) {
  return std::generic_category().message(error);
}
std::string reason() {
  return reason(errno);
}

}  // namespace

Link Link::connect(std::string peer, const std::string& address, std::function<void()> meanwhile) {
  Fd made = begin_to_connect(address);
  if (!made.valid()) throw NeighbourGone(peer + " cannot be reached: " + reason());
  Link link(std::move(peer), std::move(made));
  link.while_waiting(std::move(meanwhile));
  link.await(POLLOUT);
  int error = 0;
  socklen_t bytes = sizeof(error);
  (void)::getsockopt(link.socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) throw NeighbourGone(link.peer_ + " cannot be reached: " + reason(error));
  return link;
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

Listener::Listener(const std::string& address)
    : socket_(listen_at(address)), address_(address_of(socket_, address)) {}

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
