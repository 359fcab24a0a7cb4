// SPDX-License-Identifier: Apache-2.0
// Which version of cpp-httplib this is, and whether it is one without known holes.
#pragma once

#include <httplib.h>

#include <array>
#include <string_view>

namespace aqua::coordinator {

// The six that docs/operate/http.md lists, and others like them, are mended in it. Older ones are
// served over a Unix socket, or behind a proxy only.
inline constexpr std::string_view kSoundHttpLibrary = "0.53.1";

// "0.11.4" as numbers; what is missing is 0.
[[nodiscard]] constexpr std::array<unsigned, 3> version_numbers(std::string_view text) {
  std::array<unsigned, 3> numbers{};
  std::size_t part = 0;
  for (const char c : text) {
    if (c == '.' && ++part == numbers.size()) break;
    if (c >= '0' && c <= '9') numbers[part] = 10 * numbers[part] + static_cast<unsigned>(c - '0');
  }
  return numbers;
}

[[nodiscard]] constexpr bool is_sound_http_library(std::string_view version = CPPHTTPLIB_VERSION) {
  return version_numbers(version) >= version_numbers(kSoundHttpLibrary);
}

}  // namespace aqua::coordinator
