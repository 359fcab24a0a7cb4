// SPDX-License-Identifier: Apache-2.0
#include "southbound/http_call.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/errno_error.hpp"
#include "base/fork_guard.hpp"
#include "base/try.hpp"
#include "wire/limits.hpp"

namespace aqua::southbound {
namespace {

// A Unix listener whose queue is full answers EAGAIN; nothing tells when it no longer is.
constexpr std::chrono::milliseconds kFullQueuePause{2};
constexpr std::chrono::seconds kHurriedPatience{1};

struct Wire {
  int fd;
  Deadline deadline;
  const Interrupt* interrupt;
};

Error interrupted() {
  return Error{Code::cancelled, "interrupted"};
}

// Waits for `events` on the socket (none: only for time to pass, up to `until`). Brings the
// deadline forward where there is a hurry.
Result<void> wait(Wire& wire, short events, Clock::time_point until) {
  Deadline& deadline = wire.deadline;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min(until, deadline.at) - Clock::now());
    pollfd fds[] = {{wire.interrupt != nullptr ? wire.interrupt->fd() : -1, POLLIN, 0},
                    {events != 0 ? wire.fd : -1, events, 0},
                    {deadline.hurry != nullptr ? deadline.hurry->fd() : -1, POLLIN, 0}};
    const int n =
        ::poll(fds, 3, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
    if (n < 0 && errno != EINTR) return errno_error("poll");
    if (n > 0 && fds[0].revents != 0) return interrupted();
    if (n > 0 && fds[2].revents != 0) {
      // Looked at once, since it stays raised.
      deadline = std::min(deadline.at, Clock::now() + kHurriedPatience);
      continue;
    }
    if (n > 0) return {};
    if (n == 0 && Clock::now() >= deadline.at) {
      return Error{Code::deadline_exceeded, "the coordinator did not answer in time"};
    }
    if (n == 0 && Clock::now() >= until) return {};
  }
}

Error gone(std::string_view what) {
  Error error = errno_error(what);
  error.code = Code::unavailable;
  return error;
}

Result<void> connect_to(const wire::Address& to, Wire& wire) {
  const wire::SocketAddress target = wire::socket_address(to);
  const std::string what = concat("connect to ", to_string(to));
  for (;;) {
    if (::connect(wire.fd, target.get(), target.length) == 0) break;
    if (errno == EAGAIN) {
      AQUA_TRY(wait(wire, 0, Clock::now() + kFullQueuePause));
      continue;
    }
    if (errno != EINPROGRESS && errno != EINTR) return gone(what);
    AQUA_TRY(wait(wire, POLLOUT, wire.deadline.at));
    int fault = 0;
    socklen_t length = sizeof fault;
    if (::getsockopt(wire.fd, SOL_SOCKET, SO_ERROR, &fault, &length) != 0) return gone(what);
    errno = fault;
    if (fault != 0) return gone(what);
    break;
  }
  const int on = 1;
  if (!to.is_unix()) (void)::setsockopt(wire.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {};
}

std::string text_of(const HttpRequest& request, const std::string& token) {
  std::string text = concat(request.method, " ", request.target,
                            " HTTP/1.1\r\nHost: aqua\r\nConnection: close\r\n");
  if (!token.empty()) text += concat("Authorization: Bearer ", token, "\r\n");
  if (request.secret) text += concat("Aqua-Session: ", to_string(*request.secret), "\r\n");
  if (!request.idempotency_key.empty())
    text += concat("Idempotency-Key: ", request.idempotency_key, "\r\n");
  if (!request.body.empty()) text += "Content-Type: application/json\r\n";
  text += concat("Content-Length: ", request.body.size(), "\r\n\r\n", request.body);
  return text;
}

// A coordinator that refuses early may close before it has read everything: then its reply
// is there to be read nevertheless.
Result<void> send_all(Wire& wire, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(wire.fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return {};
    } else if (errno == EAGAIN) {
      AQUA_TRY(wait(wire, POLLOUT, wire.deadline.at));
    } else if (errno != EINTR) {
      return gone("send");
    }
  }
  return {};
}

Result<std::string> receive_all(Wire& wire) {
  std::string text;
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t n = ::recv(wire.fd, buffer.data(), buffer.size(), 0);
    if (n == 0) return text;
    if (n > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
      if (text.size() > wire::kMaxReplyBytes)
        return Error{Code::internal, "the reply is too large"};
    } else if (errno == EAGAIN) {
      AQUA_TRY(wait(wire, POLLIN, wire.deadline.at));
    } else if (errno == ECONNRESET && !text.empty()) {
      return text;
    } else if (errno != EINTR) {
      return gone("receive");
    }
  }
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

template <typename N>
bool parse_number(std::string_view text, N& out) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && fault == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<HttpReply> parse_reply(std::string_view text) {
  const Error broken{Code::internal, "the coordinator's reply is not HTTP as it should be"};
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr std::string_view kLength = "Content-Length:";
  const std::size_t end = text.find("\r\n\r\n");
  if (!text.starts_with(kVersion) || end == std::string_view::npos) return broken;
  HttpReply reply;
  if (!parse_number(text.substr(kVersion.size(), 3), reply.status)) return broken;
  if (reply.status < 100 || reply.status > 599) return broken;
  const std::string_view body = text.substr(end + 4);
  std::optional<std::size_t> length;
  std::string_view headers = text.substr(0, end + 2);
  while (!headers.empty()) {
    const std::size_t line_end = headers.find("\r\n");
    const std::string_view line = headers.substr(0, line_end);
    headers.remove_prefix(line_end + 2);
    if (!equal_ignoring_case(line.substr(0, kLength.size()), kLength)) continue;
    std::string_view value = line.substr(kLength.size());
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (!parse_number(value, length.emplace())) return broken;
  }
  if (!length || body.size() < *length) return broken;
  reply.body = body.substr(0, *length);
  return reply;
}

std::string bearer_token() {
  const std::string path = environment("AQUA_TOKEN_FILE");
  std::string line;
  if (!path.empty()) std::getline(std::ifstream(path), line);
  // What is no token must not become a header of its own.
  const bool plain =
      std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c < 127; });
  return plain ? line : std::string();
}

CallOutcome http_call(const wire::Address& to, const HttpRequest& request, const Deadline& deadline,
                      const Interrupt* interrupt) {
  CallOutcome outcome;
  const auto attempt = [&]() -> Result<HttpReply> {
    const int family = wire::socket_address(to).family();
    const ForkGuardedFd fd(
        UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    if (!fd.valid()) return errno_error("socket");
    Wire wire{fd.get(), deadline, interrupt};
    AQUA_TRY(connect_to(to, wire));
    outcome.sent = true;
    AQUA_TRY(send_all(wire, text_of(request, to.is_unix() ? std::string() : bearer_token())));
    AQUA_ASSIGN(const std::string text, receive_all(wire));
    if (text.empty())
      return Error{Code::unavailable, "the coordinator closed the connection without an answer"};
    return parse_reply(text);
  };
  auto reply = attempt();
  if (reply.ok()) {
    outcome.reply = *std::move(reply);
  } else {
    outcome.error = std::move(reply).error();
    outcome.error.message =
        concat(request.method, " ", request.target, ": ", outcome.error.message);
  }
  return outcome;
}

}  // namespace aqua::southbound
