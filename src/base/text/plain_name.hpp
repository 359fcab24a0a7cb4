// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace aqua {

// Whether a name is of printable ASCII, so that it is shown and stored everywhere as it is.
[[nodiscard]] inline bool is_plain(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace aqua
