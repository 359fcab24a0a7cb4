// SPDX-License-Identifier: Apache-2.0
// A server under load, the coordinator or the bare one: where it listens, and what it uses.
//
// Threads: free functions.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "wire/address.hpp"

namespace aqua::bench {

struct Server {
  wire::SocketAddress address;
  pid_t pid = 0;
};

// Seconds of processor time of all its threads so far.
[[nodiscard]] double cpu_seconds(pid_t pid);
// Resident, in bytes.
[[nodiscard]] std::size_t resident_bytes(pid_t pid);

}  // namespace aqua::bench
