// SPDX-License-Identifier: Apache-2.0
// What aqua-router is started with.
//
// Threads: plain data and functions.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/options/command_line.hpp"
#include "tools/router/fleet/fleet.hpp"
#include "tools/router/serve/server.hpp"

namespace aqua::router {

struct RouterOptions {
  std::string listen = "127.0.0.1:8080";
  std::vector<std::string> engine_texts{};
  std::string engine_key_file{};
  bool json = false;
  std::chrono::seconds drain{30};
  ServerOptions server{};
  FleetOptions fleet{};
  std::vector<EngineEndpoint> engines{};  // made of the texts
};

[[nodiscard]] CommandLine router_line(RouterOptions& options);
// Reads the arguments, and the files that they name. invalid_argument, and what files bring.
[[nodiscard]] Result<RouterOptions> parse_router_options(
    std::span<const std::string_view> arguments);

}  // namespace aqua::router
