// SPDX-License-Identifier: Apache-2.0
// The client's end of a lifeline: an open connection that proves the process alive.
#pragma once

#include <chrono>
#include <string>

#include "aqua/result.hpp"
#include "base/fork_guard.hpp"
#include "base/ids.hpp"
#include "southbound/interrupt.hpp"
#include "wire/clients.hpp"

namespace aqua::southbound {

struct Lifeline {
  ForkGuardedFd fd;  // end of file: the session is over
  wire::Welcome welcome;
};

// Says hello at `path` and waits at most `patience` for the welcome. unavailable when nobody
// listens or nothing comes; cancelled when interrupted; otherwise what the coordinator answered.
[[nodiscard]] Result<Lifeline> connect_lifeline(const std::string& path, const ClientId& client,
                                                std::chrono::milliseconds patience,
                                                const Interrupt& interrupt);

}  // namespace aqua::southbound
