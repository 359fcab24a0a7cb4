// SPDX-License-Identifier: Apache-2.0
// Bytes straight to a daemon's HTTP socket and back, for what no client would send.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "tests/coordinator/daemon_process.hpp"
#include "wire/address.hpp"

namespace aqua::testing {

class RawHttp {
 public:
  // Starts a daemon of its own.
  explicit RawHttp(std::vector<std::string> arguments = {}) : daemon(std::move(arguments)) {}

  [[nodiscard]] UniqueFd connect() const {
    const wire::SocketAddress target =
        wire::socket_address(wire::parse_address(daemon.address()).value());
    UniqueFd fd(::socket(target.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), target.get(), target.length), 0);
    return fd;
  }
  static void send(const UniqueFd& fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;  // the daemon has heard enough
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // Until the daemon closes.
  [[nodiscard]] static std::string receive(const UniqueFd& fd) {
    std::string text;
    char buffer[4096];
    for (;;) {
      const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, 0);
      if (n <= 0) return text;
      text.append(buffer, static_cast<std::size_t>(n));
    }
  }
  [[nodiscard]] std::string round_trip(std::string_view text) const {
    const UniqueFd fd = connect();
    send(fd, text);
    return receive(fd);
  }
  // A number of /proc/PID/status of the daemon: "Threads", "VmRSS" (KiB) …; -1 when not there.
  [[nodiscard]] long status_number(const std::string& name) {
    std::ifstream file("/proc/" + std::to_string(daemon.process().pid()) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
    }
    return -1;
  }

  DaemonProcess daemon;
};

}  // namespace aqua::testing
