// SPDX-License-Identifier: Apache-2.0
// Parses JSON that others wrote, without exceptions and without deep recursion.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace aqua {

// Returns a discarded value (is_object() and the like are false) when `text` is no JSON, or is
// nested deeper than `deepest`. Depth is checked while parsing, before anything recurses over the
// value.
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
