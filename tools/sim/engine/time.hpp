// SPDX-License-Identifier: Apache-2.0
// Virtual time: whole picoseconds. Sums of them are exact, so a run gives the same numbers
// whether iterations are added one by one or many at once; 64 bits last for 106 days.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace aqua::sim {

using Picos = std::int64_t;

inline constexpr Picos kPicosPerSecond = 1'000'000'000'000;
// What a run may take at most, in seconds: well below what 64 bits hold.
inline constexpr double kMostSeconds = 9e6;
inline constexpr Picos kNever = std::numeric_limits<Picos>::max();

[[nodiscard]] inline Picos picos(double seconds) {
  return static_cast<Picos>(std::llround(seconds * static_cast<double>(kPicosPerSecond)));
}
[[nodiscard]] constexpr double seconds(Picos time) noexcept {
  return static_cast<double>(time) / static_cast<double>(kPicosPerSecond);
}

}  // namespace aqua::sim
