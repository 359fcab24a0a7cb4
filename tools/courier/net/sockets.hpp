// SPDX-License-Identifier: Apache-2.0
// TCP between couriers.
//
// Threads: free functions. `stop`, an event, ends what waits with cancelled.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"

namespace aqua::courier {

struct Address {
  std::string host{};
  std::string port{};
};
// "HOST:PORT", an IPv6 host in brackets. invalid_argument: it is none.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

// Non-blocking, close-on-exec. unavailable: nobody answers within `patience`, or the name is not
// known.
[[nodiscard]] Result<UniqueFd> connect_to(const std::string& address,
                                          std::chrono::milliseconds patience, int stop);
// Listens. unavailable: the address is not this host's, or another one listens there.
[[nodiscard]] Result<UniqueFd> listen_at(const std::string& address);
// The port of a socket that listens.
[[nodiscard]] int port_of(int listener);
// The next that connects, as connect_to() makes it.
[[nodiscard]] Result<UniqueFd> accept_next(int listener, int stop);
// From now on the kernel gives the connection up when the other side has acknowledged nothing for
// the patience; one that is silent is asked meanwhile whether it is there.
void give_up_after(int socket, std::chrono::seconds patience);
// Until the socket has one of these events of poll(). unavailable: not within `patience`.
[[nodiscard]] Result<void> wait_until(int socket, short events, std::chrono::milliseconds patience,
                                      int stop);
// Whether the kernel lists an RDMA device. UCX need not be loaded to know that.
[[nodiscard]] bool has_rdma_device();

}  // namespace aqua::courier
