// SPDX-License-Identifier: Apache-2.0
// What one process, or one user, may have of a number of places: neither takes all of them.
#pragma once

#include <cstddef>

namespace aqua {

// Half of `places` for one process, three quarters for one user.
[[nodiscard]] constexpr std::size_t share_of_process(std::size_t places) noexcept {
  return places - places / 2;
}
[[nodiscard]] constexpr std::size_t share_of_user(std::size_t places) noexcept {
  return places - places / 4;
}

}  // namespace aqua
