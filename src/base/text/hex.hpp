// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits, in lower case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

// False: they are not two digits for each byte of `into`, which is of no use then.
[[nodiscard]] constexpr bool from_hex(std::string_view digits,
                                      std::span<std::uint8_t> into) noexcept {
  if (digits.size() != 2 * into.size()) return false;
  for (std::size_t i = 0; i < into.size(); ++i) {
    const int high = hex_value(digits[2 * i]), low = hex_value(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    into[i] = static_cast<std::uint8_t>(16 * high + low);
  }
  return true;
}

}  // namespace aqua
