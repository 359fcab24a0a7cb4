// SPDX-License-Identifier: Apache-2.0
// concat("lease ", 7, " of ", name): one string from streamable parts. (GCC 12 has no <format>.)
#pragma once

#include <sstream>
#include <string>

namespace aqua {

template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace aqua
