// SPDX-License-Identifier: Apache-2.0
// Spreads a small number over 64 bits (splitmix64), for seeds. Not for secrets.
#pragma once

#include <cstdint>

namespace aqua::device {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace aqua::device
