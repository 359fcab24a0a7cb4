// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/fenced_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace aqua::router {
namespace {

constexpr std::chrono::milliseconds kLinger{200};
constexpr std::size_t kMostThrownAway = std::size_t{2} << 20;

thread_local FencedStream* here = nullptr;

bool wait(int socket, short events, std::chrono::steady_clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd asked{socket, events, 0};
    const int n = ::poll(&asked, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (n >= 0) return n > 0;
    if (errno != EINTR) return false;
  }
}

}  // namespace

FencedStream::FencedStream(int socket, const FenceLimits& limits)
    : socket_(socket), limits_(limits) {
  here = this;
}

FencedStream::~FencedStream() {
  here = nullptr;
}

FencedStream& FencedStream::current() {
  if (here == nullptr) std::abort();  // asked outside of a request
  return *here;
}

bool FencedStream::fill(Clock::time_point deadline) {
  for (;;) {
    const ssize_t n = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n > 0) {
      begin_ = 0;
      end_ = static_cast<std::size_t>(n);
      return true;
    }
    if (n == 0) return false;
    if (errno == EINTR) continue;
    // One that dribbles reaches the deadline though every recv() succeeds.
    if (errno != EAGAIN || !wait(socket_, POLLIN, deadline)) return false;
  }
}

bool FencedStream::await_request() {
  if (begin_ == end_ && !fill(Clock::now() + limits_.idle)) return false;
  deadline_ = Clock::now() + limits_.head;
  taken_ = line_bytes_ = 0;
  after_cr_ = false;
  in_body_ = false;
  return true;
}

// Looks for the head's end itself: the library does not say when it has read it. What it might take
// for the end otherwise than this, a line without CR, is refused.
bool FencedStream::allow(char byte) {
  if (++taken_ > (in_body_ ? limits_.body_bytes : limits_.head_bytes)) return false;
  if (in_body_) return true;
  ++line_bytes_;
  const bool after_cr = std::exchange(after_cr_, byte == '\r');
  if (byte != '\n') return true;
  if (!after_cr) return false;
  if (std::exchange(line_bytes_, 0) > 2) return true;
  in_body_ = true;  // a line of CR LF alone
  taken_ = 0;
  deadline_ = Clock::now() + limits_.body;
  return true;
}

ssize_t FencedStream::read(char* out, std::size_t size) {
  if (begin_ == end_ && (Clock::now() >= deadline_ || !fill(deadline_))) {
    closing_ = true;
    return -1;
  }
  std::size_t n = std::min(size, end_ - begin_);
  if (in_body_) {
    if (taken_ + n > limits_.body_bytes) {
      closing_ = true;
      return -1;
    }
    taken_ += n;
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      if (!allow(buffer_[begin_ + i])) {
        closing_ = true;
        return -1;
      }
      if (in_body_) n = i + 1;  // the rest by the next call, as body
    }
  }
  std::memcpy(out, buffer_.data() + begin_, n);
  begin_ += n;
  return static_cast<ssize_t>(n);
}

ssize_t FencedStream::write(const char* bytes, std::size_t size) {
  const auto deadline = Clock::now() + limits_.write;
  std::size_t written = 0;
  while (written < size) {
    const ssize_t n = ::send(socket_, bytes + written, size - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else if (n < 0 && errno == EAGAIN && wait(socket_, POLLOUT, deadline) &&
               Clock::now() < deadline) {
      continue;
    } else {
      closing_ = true;
      return -1;
    }
  }
  return static_cast<ssize_t>(size);
}

bool FencedStream::client_is_there() const {
  pollfd asked{socket_, POLLRDHUP, 0};
  const int n = ::poll(&asked, 1, 0);
  return n == 0 || (n > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0);
}

void FencedStream::linger() {
  ::shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kLinger;
  std::size_t thrown_away = 0;
  while (thrown_away < kMostThrownAway && wait(socket_, POLLIN, deadline)) {
    const ssize_t n = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n <= 0) return;
    thrown_away += static_cast<std::size_t>(n);
  }
}

}  // namespace aqua::router
