// SPDX-License-Identifier: Apache-2.0
// Makes the next accept() fail of the server in this process that listens at this port of
// 127.0.0.1.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace aqua::test {

inline void break_listener(int port) {
  int broken = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in address{};
    socklen_t length = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) continue;
    if (address.sin_family == AF_INET && ntohs(address.sin_port) == port)
      broken += ::shutdown(fd, SHUT_RDWR) == 0 ? 1 : 0;
  }
  EXPECT_EQ(broken, 1);
}

}  // namespace aqua::test
