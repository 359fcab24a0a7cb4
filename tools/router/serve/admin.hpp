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
// How many moves of each kind ended how, and the last ones.
[[nodiscard]] std::string move_list(const MoveCounts& counts, const std::vector<MoveView>& last);
// What a move's body asks for: {"to": "NAME"}, and perhaps "by": "tokens". invalid_argument.
struct AskedMove {
  std::string engine{};
  bool by_tokens = false;
  friend bool operator==(const AskedMove&, const AskedMove&) = default;
};
[[nodiscard]] Result<AskedMove> parse_move(std::string_view body);

}  // namespace aqua::router
