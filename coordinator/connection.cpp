#include "coordinator/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace aqua::coordinator {
namespace {

constexpr std::chrono::milliseconds kLinger{200};

}  // namespace

Connection::Connection(int fd, const ConnectionLimits& limits)
    : fd_(fd), limits_(limits), read_deadline_(Clock::now() + limits.read_timeout) {}

bool Connection::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll_fd{fd_, events, 0};
    const int n = ::poll(&poll_fd, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n >= 0) return n > 0;
    if (errno != EINTR) return false;
  }
}

bool Connection::is_readable() const {
  return begin_ < end_ || wait(POLLIN, Clock::now());
}

ssize_t Connection::fill() {
  for (;;) {
    const ssize_t n = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(POLLIN, read_deadline_)) return -1;
  }
}

bool Connection::within_limits(const char* bytes, std::size_t size) {
  for (std::size_t i = 0; in_headers_ && i < size; ++i) {
    if (bytes[i] == '\n') {
      in_headers_ = ++newlines_ < 2;
    } else if (bytes[i] != '\r') {
      newlines_ = 0;
    }
  }
  read_bytes_ += size;
  return read_bytes_ <= (in_headers_ ? limits_.header_bytes : limits_.request_bytes);
}

ssize_t Connection::read(char* out, std::size_t size) {
  if (begin_ == end_) {
    // A dribbling client reaches the deadline even though every recv() succeeds.
    if (Clock::now() >= read_deadline_) return -1;
    const ssize_t n = fill();
    if (n <= 0) return n;
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
    if (!within_limits(buffer_.data(), end_)) return -1;
  }
  const std::size_t taken = std::min(size, end_ - begin_);
  std::memcpy(out, buffer_.data() + begin_, taken);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t Connection::write(const char* bytes, std::size_t size) {
  if (write_deadline_ == Clock::time_point{})
    write_deadline_ = Clock::now() + limits_.write_timeout;
  for (;;) {
    const ssize_t n = ::send(fd_, bytes, size, MSG_NOSIGNAL);
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !wait(POLLOUT, write_deadline_)) return -1;
  }
}

void Connection::finish() {
  ::shutdown(fd_, SHUT_WR);
  const auto deadline = Clock::now() + kLinger;
  // A client that has sent all waits for nothing: the first recv() finds nothing and ends it.
  std::size_t thrown_away = 0;
  ssize_t n = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
  while (n > 0 && thrown_away < 2 * limits_.request_bytes) {
    thrown_away += static_cast<std::size_t>(n);
    if (!wait(POLLIN, deadline)) return;
    n = ::recv(fd_, buffer_.data(), buffer_.size(), 0);
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace aqua::coordinator
