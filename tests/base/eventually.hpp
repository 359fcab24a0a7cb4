// SPDX-License-Identifier: Apache-2.0
// Polling, for what makes no event that a test could wait for.
#pragma once

#include <chrono>
#include <thread>
#include <utility>

namespace aqua::test {

// Looks once a millisecond until `condition` holds, and once more when `patience` has run out.
// False where it did not hold then either.
template <typename Condition>
[[nodiscard]] bool eventually(std::chrono::milliseconds patience, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const bool last = std::chrono::steady_clock::now() >= deadline;
    if (condition()) return true;
    if (last) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}
// With the patience of a machine that does much else.
template <typename Condition>
[[nodiscard]] bool eventually(Condition condition) {
  return eventually(std::chrono::seconds{60}, std::move(condition));
}

}  // namespace aqua::test
