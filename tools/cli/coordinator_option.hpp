// SPDX-License-Identifier: Apache-2.0
// --coordinator: which one a command asks.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"

namespace aqua::tool {

// Where the Debian package's coordinator listens.
inline constexpr const char* kPackagedSocket = "/run/aqua/coordinator.sock";

void add_coordinator(CommandLine& line, std::string& address);

// Fills in an `address` that was not given: $AQUA_COORDINATOR, or else `packaged` where there is
// such a socket. invalid_argument, with `command` first, when there is neither.
[[nodiscard]] Result<void> resolve_coordinator(std::string& address, std::string_view command,
                                               const char* packaged = kPackagedSocket);

}  // namespace aqua::tool
