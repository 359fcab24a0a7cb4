// SPDX-License-Identifier: Apache-2.0
#include "tools/daemon/notify.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "base/errno_error.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"

namespace aqua::daemon {
namespace {

constexpr int kFirstPassed = 3;
constexpr int kMostPassed = 1 << 20;

// A path or, behind '@', an abstract name; empty where there is none.
std::string notify_socket() {
  std::string path = environment("NOTIFY_SOCKET");
  return path.starts_with('/') || path.starts_with('@') ? path : std::string();
}

int number_in(const char* name) {
  const std::string text = environment(name);
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Those between colons; more are "unknown", as systemd calls what has no name.
std::vector<std::string> passed_names(int count) {
  const std::string text = environment("LISTEN_FDNAMES");
  std::string_view left = text;
  std::vector<std::string> names;
  while (!left.empty() && names.size() < static_cast<std::size_t>(count)) {
    const std::size_t end = left.find(':');
    names.emplace_back(left.substr(0, end));
    left = end == std::string_view::npos ? "" : left.substr(end + 1);
  }
  names.resize(static_cast<std::size_t>(count), "unknown");
  return names;
}

}  // namespace

bool has_notify_socket() {
  return !notify_socket().empty();
}

Result<void> notify(std::string_view state, std::span<const int> fds,
                    std::chrono::milliseconds patience) {
  const std::string path = notify_socket();
  if (path.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return Error{Code::unavailable, concat("NOTIFY_SOCKET is too long: ", path)};
  }
  path.copy(address.sun_path, path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return Error{Code::unavailable, errno_error("NOTIFY_SOCKET").message};
  }
  return send_message(fd.get(), std::as_bytes(std::span(state)), fds, patience);
}

std::vector<NamedDescriptor> take_descriptors() {
  const bool ours = number_in("LISTEN_PID") == ::getpid();
  const int count = number_in("LISTEN_FDS");
  std::vector<NamedDescriptor> taken;
  if (ours && count > 0 && count <= kMostPassed) {
    const std::vector<std::string> names = passed_names(count);
    for (int i = 0; i < count; ++i) {
      UniqueFd fd(kFirstPassed + i);
      if (::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) {
        (void)fd.release();  // it is not open
        continue;
      }
      taken.push_back({names[static_cast<std::size_t>(i)], std::move(fd)});
    }
  }
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  return taken;
}

}  // namespace aqua::daemon
