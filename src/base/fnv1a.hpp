// SPDX-License-Identifier: Apache-2.0
// FNV-1a of 64 bits: against truncation and damage, not against anybody who wants to deceive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace aqua {

// `start` other than the usual one gives another hash of the same text.
[[nodiscard]] constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes,
                                            std::uint64_t start = 0xcbf29ce484222325U) noexcept {
  std::uint64_t hash = start;
  for (const std::byte each : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3U;
  }
  return hash;
}
[[nodiscard]] inline std::uint64_t fnv1a(std::string_view text,
                                         std::uint64_t start = 0xcbf29ce484222325U) noexcept {
  return fnv1a(std::as_bytes(std::span(text)), start);
}

}  // namespace aqua
