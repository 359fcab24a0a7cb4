// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits, in lower case.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace aqua {

[[nodiscard]] inline std::string to_hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

// -1: it is no digit.
[[nodiscard]] constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

}  // namespace aqua
