// SPDX-License-Identifier: Apache-2.0
// What operators are shown, in JSON.
//
// Threads: free functions. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/fleet/fleet.hpp"

namespace aqua::router {

[[nodiscard]] std::string engine_list(const std::vector<EngineView>& engines,
                                      const std::string& coordinator_page = {});
// All of them; or the largest so many, by tokens. `total` says how many there are.
[[nodiscard]] std::string request_list(std::vector<RequestView> requests,
                                       std::optional<std::size_t> most = {});
// "most" of a query; nullopt: it is not there, ""; invalid_argument: no number.
[[nodiscard]] Result<std::optional<std::size_t>> parse_most(std::string_view most);
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
