// SPDX-License-Identifier: Apache-2.0
#include "base/text/control_characters.hpp"

namespace aqua {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) noexcept {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

}  // namespace

std::size_t control_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const unsigned first = byte_at(text, 0);
  const unsigned second = byte_at(text, 1);
  const unsigned third = byte_at(text, 2);
  if (first < 0x20 || first == 0x7f) return 1;
  if (first == 0xc2 && second >= 0x80 && second <= 0x9f) return 2;  // U+0080 to U+009F
  if (first == 0xd8 && second == 0x9c) return 2;                    // U+061C
  if (first != 0xe2) return 0;
  if (second == 0x80) {
    const bool is_mark = third == 0x8e || third == 0x8f;         // U+200E, U+200F
    return is_mark || (third >= 0xa8 && third <= 0xae) ? 3 : 0;  // U+2028 to U+202E
  }
  return second == 0x81 && third >= 0xa6 && third <= 0xa9 ? 3 : 0;  // U+2066 to U+2069
}

std::size_t control_in(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (control_length(text.substr(at)) > 0) return at;
  }
  return std::string_view::npos;
}

}  // namespace aqua
