// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/http_loop.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace aqua::bench {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

Reply reply_of(std::string_view text) {
  Reply reply{.status = 0, .body = {}, .at = Clock::now()};
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with(kVersion) || end == std::string_view::npos) return reply;
  std::from_chars(text.data() + kVersion.size(), text.data() + end, reply.status);
  reply.body = text.substr(end + 4);
  return reply;
}

}  // namespace

HttpLoop::HttpLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.valid()) give_up("epoll_create1");
}

void HttpLoop::ask(const wire::SocketAddress& to, std::string_view text, Done done) {
  UniqueFd fd(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) give_up("socket");
  if (::connect(fd.get(), to.get(), to.length) != 0) give_up("connect");
  if (::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
    give_up("send");
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = place;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) give_up("epoll_ctl");
  Slot& slot = slots_[place];
  slot.fd = std::move(fd);
  slot.text.clear();
  slot.done = std::move(done);
  ++in_flight_;
}

void HttpLoop::turn(Clock::time_point until) {
  const auto left = std::max(until - Clock::now(), Clock::duration::zero());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec patience{whole.count(), std::chrono::nanoseconds(left - whole).count()};
  std::array<epoll_event, 64> events{};
  const int count = ::epoll_pwait2(epoll_.get(), events.data(), events.size(), &patience, nullptr);
  if (count < 0 && errno != EINTR) give_up("epoll_pwait2");
  for (int i = 0; i < count; ++i) hear(events[static_cast<std::size_t>(i)].data.u32);
}

void HttpLoop::hear(std::uint32_t place) {
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = ::recv(slots_[place].fd.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) break;
    slots_[place].text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  // done() may ask again, which may move the slots or take this one.
  const Done done = std::exchange(slots_[place].done, nullptr);
  const std::string text = std::move(slots_[place].text);
  slots_[place].fd.reset();
  free_.push_back(place);
  --in_flight_;
  done(reply_of(text));
}

}  // namespace aqua::bench
