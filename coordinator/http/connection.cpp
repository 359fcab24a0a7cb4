// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "coordinator/common/thread_pool.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::chrono::milliseconds kLinger{200};
constexpr std::size_t kMaxThrownAway = std::size_t{2} << 20;

ssize_t late() {
  errno = ETIMEDOUT;
  return -1;
}

}  // namespace

Connection::Connection(Channel& channel, Clock::time_point read_deadline,
                       std::chrono::milliseconds write_timeout)
    : channel_(channel), read_deadline_(read_deadline), write_timeout_(write_timeout) {}

bool Connection::wait(short events, Clock::time_point deadline) const {
  const ThreadPool::Blocking blocking;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll_fd{channel_.fd(), events, 0};
    const int n = ::poll(&poll_fd, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n >= 0) return n > 0;
    if (errno != EINTR) return false;
  }
}

ssize_t Connection::read(char* out, std::size_t size) {
  write_deadline_ = {};  // what was written before the request has come is no part of the reply
  for (;;) {
    // A dribbling client reaches the deadline even though every recv() succeeds.
    if (Clock::now() >= read_deadline_) return late();
    const ssize_t n = channel_.receive(out, size);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return -1;
    if (!wait(channel_.wants(), read_deadline_)) return late();
  }
}

ssize_t Connection::write(const char* bytes, std::size_t size) {
  if (write_deadline_ == Clock::time_point{}) write_deadline_ = Clock::now() + write_timeout_;
  for (;;) {
    const ssize_t n = channel_.send(bytes, size);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return -1;
    if (!wait(channel_.wants(), write_deadline_)) return late();
  }
}

void Connection::finish(bool all_read) {
  while (!channel_.end() && wait(channel_.wants(), write_deadline_)) continue;
  // What comes is thrown away, so that TLS need not look at it.
  const int fd = channel_.fd();
  std::array<char, 4096> buffer;
  // Nothing more has come: closing says all that there is to say.
  ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (all_read && n <= 0) return;
  ::shutdown(fd, SHUT_WR);
  const auto deadline = Clock::now() + kLinger;
  if (n < 0 && errno == EAGAIN && wait(POLLIN, deadline))
    n = ::recv(fd, buffer.data(), buffer.size(), 0);
  std::size_t thrown_away = 0;
  while (n > 0 && thrown_away < kMaxThrownAway) {
    thrown_away += static_cast<std::size_t>(n);
    if (!wait(POLLIN, deadline)) return;
    n = ::recv(fd, buffer.data(), buffer.size(), 0);
  }
}

}  // namespace aqua::coordinator
