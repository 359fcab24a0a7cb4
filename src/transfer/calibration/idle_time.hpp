// SPDX-License-Identifier: Apache-2.0
// What is part of every time that the host measures of a transfer, and none of the transfer's.
//
// Threads: free functions; the stream is the caller's, and idle.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/try.hpp"
#include "device/device.hpp"

namespace aqua::transfer {

// What posting and seeing nothing takes: the median of `samples`, an odd number.
[[nodiscard]] inline Result<std::chrono::nanoseconds> idle_time(device::Device& device,
                                                                Stream stream, unsigned samples) {
  AQUA_ASSIGN(const auto event, device.create_event());
  std::vector<std::chrono::nanoseconds> times;
  for (unsigned i = 0; i < samples; ++i) {
    const auto start = std::chrono::steady_clock::now();
    AQUA_TRY(device.record(*event, stream));
    AQUA_TRY(device.synchronize(*event));
    times.push_back(std::chrono::steady_clock::now() - start);
  }
  const auto middle = times.begin() + samples / 2;
  std::ranges::nth_element(times, middle);
  return *middle;
}

// A measured time less that, but never less than a tenth of it.
[[nodiscard]] constexpr std::chrono::nanoseconds net_time(std::chrono::nanoseconds measured,
                                                          std::chrono::nanoseconds idle) noexcept {
  return std::max(measured - idle, measured / 10);
}

}  // namespace aqua::transfer
