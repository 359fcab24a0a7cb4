// SPDX-License-Identifier: Apache-2.0
// text() is printf() into a string.
#pragma once

#include <cstdio>
#include <string>

namespace aqua::example {

template <typename... Values>
[[nodiscard]] std::string text(const char* format, Values... values) {
  std::string out(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, values...)), '\0');
  (void)std::snprintf(out.data(), out.size() + 1, format, values...);
  return out;
}

}  // namespace aqua::example
