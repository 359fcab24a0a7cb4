// SPDX-License-Identifier: Apache-2.0
// How figures are shown that were measured and predicted.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "base/concat.hpp"

namespace aqua::tool {

[[nodiscard]] inline double percent_off(double said, double was) {
  return was > 0 ? (said / was - 1) * 100 : 0;
}

// An error says which file it is about.
template <typename T>
[[nodiscard]] Result<T> of_file(std::string_view path, Result<T> result) {
  if (result.ok()) return result;
  return Error{result.error().code, concat(path, ": ", result.error().message)};
}

// At most 199 characters, by printf's rules.
template <typename... Values>
[[nodiscard]] std::string line(const char* format, Values... values) {
  char text[200];
  (void)std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace aqua::tool
