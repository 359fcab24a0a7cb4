// SPDX-License-Identifier: Apache-2.0
// What UCX alone moves: ucx_perftest of Debian's ucx-utils, active messages over TCP and loopback.
#pragma once

#include <cstdint>

namespace aqua::bench {

class UcxAlone {
 public:
  explicit UcxAlone(int port) : port_(port) {}

  [[nodiscard]] static bool is_installed();
  // Bytes a second in so many messages of that size, one connection.
  [[nodiscard]] double measure(std::uint64_t message_bytes, unsigned messages) const;

 private:
  const int port_;
};

}  // namespace aqua::bench
