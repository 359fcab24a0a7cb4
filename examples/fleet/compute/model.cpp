// SPDX-License-Identifier: Apache-2.0
#include "compute/model.hpp"

#include <algorithm>

namespace aqua::fleet {
namespace {

constexpr std::size_t kMostBytesOfACharacter = 4;

// How many bytes a character has that begins with this one; 1 for what begins none.
std::size_t character_bytes(unsigned char lead) {
  if (lead >= 0xF0) return 4;
  if (lead >= 0xE0) return 3;
  return lead >= 0xC0 ? 2 : 1;
}

// The length of `text` up to its last character, or with it where that is complete.
std::size_t complete_bytes(const std::string& text) {
  const std::size_t back = std::min(text.size(), kMostBytesOfACharacter);
  for (std::size_t i = 1; i <= back; ++i) {
    const auto byte = static_cast<unsigned char>(text[text.size() - i]);
    if ((byte & 0xC0) == 0x80) continue;  // in the midst of one
    return character_bytes(byte) > i ? text.size() - i : text.size();
  }
  return text.size();
}

}  // namespace

std::string last_text(const Model& model, std::span<const Token> tokens) {
  // Only the bytes of a character that is not complete matter in what comes before.
  std::string text;
  for (std::size_t at = tokens.size() - 1; at > 0 && text.size() < kMostBytesOfACharacter; --at)
    text.insert(0, model.bytes_of(tokens[at - 1]));
  const std::size_t told = complete_bytes(text);
  text += model.bytes_of(tokens.back());
  return text.substr(told, complete_bytes(text) - told);
}

}  // namespace aqua::fleet
