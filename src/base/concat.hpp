// SPDX-License-Identifier: Apache-2.0
// concat("lease ", 7, " of ", name): one string from streamable parts. (GCC 12 has no <format>.)
// Where memory runs out it throws std::bad_alloc, as strings do.
#pragma once

#include <sstream>
#include <string>

namespace aqua {

template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);  // or a stream keeps the exception, and a part of the text
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace aqua
