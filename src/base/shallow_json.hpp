// SPDX-License-Identifier: Apache-2.0
// Parses JSON that others wrote, without exceptions and without deep recursion.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace aqua {

// Whether brackets outside of texts are nested deeper than `deepest`.
[[nodiscard]] inline bool nested_deeper(std::string_view text, int deepest) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;  // whatever follows ends no text
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{' || c == '[') {
      if (++depth > deepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

// Returns a discarded value (is_object() and the like are false) when `text` is no JSON, or is
// nested deeper than `deepest`. Depth is checked before anything is parsed. (By a callback of the
// parser it would cost a look at every element of an array or object for each of them that ends.)
[[nodiscard]] inline nlohmann::json parse_shallow(std::string_view text, int deepest = 16) {
  if (nested_deeper(text, deepest)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace aqua
