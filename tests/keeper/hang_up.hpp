// SPDX-License-Identifier: Apache-2.0
// How a process of these tests hangs up: it shuts its connections to the keeper, and lives on.
#pragma once

#include <sys/socket.h>

#include <string>

#include "tests/base/spawned_peer.hpp"

namespace aqua::test {

inline std::string hang_up() {
  for (int fd = kPeerSocket + 1; fd < 1024; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    const bool socket = ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    if (socket && type == SOCK_SEQPACKET) (void)::shutdown(fd, SHUT_RDWR);
  }
  return "ok";
}

}  // namespace aqua::test
