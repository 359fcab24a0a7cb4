// SPDX-License-Identifier: Apache-2.0
// The four ways to move the pieces of a transfer. All move the same bytes in the same order
// of streams; they differ in time, and in what they take from the engine meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "device/device.hpp"

namespace aqua::transfer {

// In order of preference where times are equal: copy engines before a kernel, and no
// staging memory before some.
enum class Way : std::uint8_t {
  each,     // a copy command for each piece, neighbours merged
  batched,  // one command for all pieces of a group of layers
  staged,   // gathered into a buffer on this device; the link sees few large copies
  kernel,   // a kernel that reads and writes both sides, bounded in SMs
};
inline constexpr std::array kWays{Way::each, Way::batched, Way::staged, Way::kernel};

[[nodiscard]] constexpr std::string_view to_string(Way way) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"each", "batched", "staged", "kernel"};
  return kNames[static_cast<std::size_t>(way)];
}

// How the copies that touch the cache's pieces are to be done.
[[nodiscard]] constexpr device::CopyMethod method_of(Way way) noexcept {
  switch (way) {
    case Way::batched:
      return device::CopyMethod::batched;
    case Way::staged:
    case Way::kernel:
      return device::CopyMethod::kernel;
    case Way::each:
      break;
  }
  return device::CopyMethod::each;
}

class WaySet {
 public:
  constexpr WaySet() noexcept = default;
  constexpr WaySet(std::initializer_list<Way> ways) noexcept {
    for (const Way way : ways) add(way);
  }
  constexpr void add(Way way) noexcept { bits_ = static_cast<std::uint8_t>(bits_ | bit(way)); }
  constexpr void remove(Way way) noexcept { bits_ = static_cast<std::uint8_t>(bits_ & ~bit(way)); }
  [[nodiscard]] constexpr bool has(Way way) const noexcept { return (bits_ & bit(way)) != 0; }

 private:
  static constexpr unsigned bit(Way way) noexcept { return 1U << static_cast<unsigned>(way); }
  std::uint8_t bits_ = 0;
};

}  // namespace aqua::transfer
