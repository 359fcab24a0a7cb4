// SPDX-License-Identifier: Apache-2.0
// aqua servers: the servers whose coordinators know each other.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "wire/servers.hpp"

namespace aqua::tool {

struct ServersCommand {
  std::string coordinator{};
  bool json = false;
};

[[nodiscard]] CommandLine servers_line(ServersCommand& command);
// invalid_argument names the argument.
[[nodiscard]] Result<ServersCommand> parse_servers(std::span<const std::string_view> arguments);
// The text to print.
[[nodiscard]] Result<std::string> run_servers(const ServersCommand& command);

// The table that run_servers() prints, without asking anybody.
[[nodiscard]] std::string servers_table(const wire::Servers& all);

}  // namespace aqua::tool
