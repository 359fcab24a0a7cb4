// SPDX-License-Identifier: Apache-2.0
// How many bytes of a device its slabs may still take. It also serves as the device's identity
// in what it hands out.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>

namespace aqua::device {

class SlabBudget {
 public:
  explicit SlabBudget(std::size_t bytes) noexcept : free_(bytes) {}

  // False, and nothing taken, when fewer are left.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    std::size_t free = free_.load();
    while (free >= bytes) {
      if (free_.compare_exchange_weak(free, free - bytes)) return true;
    }
    return false;
  }
  void give(std::size_t bytes) noexcept { free_ += bytes; }
  [[nodiscard]] std::size_t free_bytes() const noexcept { return free_.load(); }

 private:
  std::atomic<std::size_t> free_;
};

}  // namespace aqua::device
