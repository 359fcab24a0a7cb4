// SPDX-License-Identifier: Apache-2.0
// A socket that listens on 127.0.0.1, at a port of the kernel's choice.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.hpp"

namespace aqua::testing {

struct LoopbackSocket {
  LoopbackSocket() : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd.get(), plain, length), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    EXPECT_EQ(::getsockname(fd.get(), plain, &length), 0);
    port = ntohs(address.sin_port);
  }
  UniqueFd fd;
  // Nobody else is given it soon, once the socket is closed: the kernel draws ports at random.
  int port = 0;
};

}  // namespace aqua::testing
