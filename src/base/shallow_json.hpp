// SPDX-License-Identifier: Apache-2.0
// JSON that others wrote: never an exception, never deep recursion.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace aqua {

// Discarded (is_object() and the like are false) when it is no JSON or nested deeper than
// `deepest`: that is found while parsing, before the recursion of anything else meets it.
[[nodiscard]] inline nlohmann::json parse_shallow(std::string_view text, int deepest = 16) {
  bool deep = false;
  auto value = nlohmann::json::parse(
      text,
      [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
        deep = deep || depth > deepest;
        return !deep;
      },
      /*allow_exceptions=*/false);
  return deep ? nlohmann::json(nlohmann::json::value_t::discarded) : value;
}

}  // namespace aqua
