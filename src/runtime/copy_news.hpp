// SPDX-License-Identifier: Apache-2.0
// CopyNews turns a GPU's counts of what really ran into warnings: each reason for which copies go
// slower than planned is told once. A device that has one way only has no news.
//
// Threads: any.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace aqua::runtime {

class CopyNews {
 public:
  explicit CopyNews(const device::Info& info) : info_(info) {}

  // Whether there is a reason that take() has not handed out yet.
  [[nodiscard]] bool any(const device::CopyCounts& now) const noexcept;
  // Lines for people, of each such reason.
  [[nodiscard]] std::vector<std::string> take(const device::CopyCounts& now);

 private:
  [[nodiscard]] unsigned reasons(const device::CopyCounts& now) const noexcept;

  const device::Info& info_;  // of the device, which outlives this object
  std::atomic<unsigned> told_{0};
};

}  // namespace aqua::runtime
