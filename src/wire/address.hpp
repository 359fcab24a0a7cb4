// SPDX-License-Identifier: Apache-2.0
// Where a coordinator listens: "unix:PATH" or "HOST:PORT".
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::wire {

struct Address {
  std::string path;  // "" for TCP
  std::string host;  // a numeric address as text, "" for a Unix socket
  std::uint16_t port = 0;

  [[nodiscard]] bool is_unix() const noexcept { return !path.empty(); }
};

[[nodiscard]] std::string to_string(const Address& address);

enum class Hosts : std::uint8_t {
  loopback,  // "localhost", 127.0.0.0/8 or "[::1]"
  any,       // every numeric address: for who speaks TLS there
};

// invalid_argument for anything else, for a path longer than kMaxPath, and for a host beyond
// `hosts`: a session is proven over a Unix socket, so a coordinator serves one machine.
[[nodiscard]] Result<Address> parse_address(std::string_view text, Hosts hosts = Hosts::loopback);

// The same for the kernel.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
  [[nodiscard]] int family() const noexcept { return storage.ss_family; }
};
[[nodiscard]] SocketAddress socket_address(const Address& address);

}  // namespace aqua::wire
