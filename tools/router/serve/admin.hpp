// SPDX-License-Identifier: Apache-2.0
// What operators are shown, in JSON.
//
// Threads: free functions. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/fleet/fleet.hpp"

namespace aqua::router {

[[nodiscard]] std::string engine_list(const std::vector<EngineView>& engines);
[[nodiscard]] std::string request_list(const std::vector<RequestView>& requests);
// The engine that a move's body names: {"to": "NAME"}. invalid_argument.
[[nodiscard]] Result<std::string> parse_move(std::string_view body);

}  // namespace aqua::router
