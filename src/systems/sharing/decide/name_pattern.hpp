// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace aqua::sharing {

// Whether a name fits a pattern, in which '*' stands for any characters, or none, and every other
// character for itself.
[[nodiscard]] inline bool fits(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0;
  // Where to go on when characters differ: behind the last '*', which then takes one more.
  std::size_t retry_pattern = std::string_view::npos, retry_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      retry_pattern = ++p;
      retry_name = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p, ++n;
    } else if (retry_pattern != std::string_view::npos) {
      p = retry_pattern;
      n = ++retry_name;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace aqua::sharing
