// SPDX-License-Identifier: Apache-2.0
// Sharing says how the policy `auto` shares the device among those that answer, and why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aqua::schedule {

enum class Sharing : std::uint8_t { fixed, whole, fair, partial, none };
inline constexpr std::array kSharings{Sharing::fixed, Sharing::whole, Sharing::fair,
                                      Sharing::partial, Sharing::none};

[[nodiscard]] constexpr std::string_view to_string(Sharing sharing) noexcept {
  constexpr std::string_view kNames[] = {"fixed", "whole", "fair", "partial", "none"};
  return kNames[static_cast<std::uint8_t>(sharing)];
}

// A sentence for people.
[[nodiscard]] constexpr std::string_view why(Sharing sharing) noexcept {
  switch (sharing) {
    case Sharing::fixed:
      return "the policy knows one way only";
    case Sharing::whole:
      return "all that answer fit the device: nobody gives way";
    case Sharing::fair:
      return "more answer than fit, and by turns all keep the pace";
    case Sharing::partial:
      return "by turns not all would keep the pace: as many as do take turns, the others are "
             "served first come, first served with what is left";
    case Sharing::none:
      return "the swap space is full: nobody gives way but for want of memory";
  }
  return "";
}

}  // namespace aqua::schedule
