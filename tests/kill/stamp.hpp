// SPDX-License-Identifier: Apache-2.0
// A stamp says whose word it is: tenant, object, version, place. Zero is nobody's.
//
//   63..48 tenant (never 0) | 47..36 object | 35..20 version | 19..0 index of the word
#pragma once

#include <cstdint>
#include <span>

namespace aqua::kill_test {

struct Owner {
  std::uint16_t tenant = 0;
  std::uint16_t object = 0;  // 12 bits
  std::uint16_t version = 0;
};

[[nodiscard]] constexpr std::uint64_t stamp(const Owner& owner, std::size_t index) noexcept {
  return std::uint64_t{owner.tenant} << 48 | std::uint64_t{owner.object} << 36 |
         std::uint64_t{owner.version} << 20 | (index & 0xfffff);
}
[[nodiscard]] constexpr std::uint16_t tenant_of(std::uint64_t word) noexcept {
  return static_cast<std::uint16_t>(word >> 48);
}

struct Odd {  // words that are not what they should be
  std::size_t count = 0;
  std::size_t first_index = 0;
  std::uint64_t first_word = 0;
};

inline void write_stamps(std::span<std::uint64_t> words, const Owner& owner) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = stamp(owner, i);
}

inline void note(Odd& odd, std::size_t index, std::uint64_t word) {
  if (odd.count++ == 0) odd = {1, index, word};
}

// Words that are not the owner's stamps.
[[nodiscard]] inline Odd mismatches(std::span<const std::uint64_t> words, const Owner& owner) {
  Odd odd;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != stamp(owner, i)) note(odd, i, words[i]);
  }
  return odd;
}

// Words that are neither zero nor this tenant's own: another tenant's bytes.
[[nodiscard]] inline Odd strangers(std::span<const std::uint64_t> words, std::uint16_t tenant) {
  Odd odd;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0 && tenant_of(words[i]) != tenant) note(odd, i, words[i]);
  }
  return odd;
}

}  // namespace aqua::kill_test
