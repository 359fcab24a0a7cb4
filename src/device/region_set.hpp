// SPDX-License-Identifier: Apache-2.0
// A set of device address ranges: which memory is poisoned, mapped read-only, a device's own.
//
// Threads: every method may be called concurrently. Asking an empty set costs one atomic load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/mutex.hpp"

namespace aqua::device {

class RegionSet {
 public:
  void add(const std::byte* address, std::size_t bytes);
  // Takes [address, address + bytes) out, splitting a range that it cuts.
  void remove(const std::byte* address, std::size_t bytes);

  [[nodiscard]] bool empty() const noexcept { return empty_.load(std::memory_order_relaxed); }
  // True when at least one byte of the range is in the set.
  [[nodiscard]] bool touches(const std::byte* address, std::size_t bytes) const;
  // True when every byte is. An empty range is covered.
  [[nodiscard]] bool covers(const std::byte* address, std::size_t bytes) const;
  // The widest run of bytes of the set around `address`, as [first, second); nothing when
  // that byte is not in the set.
  [[nodiscard]] std::optional<std::pair<std::uintptr_t, std::uintptr_t>> around(
      const std::byte* address) const;

 private:
  void cut(std::uintptr_t begin, std::uintptr_t end) AQUA_REQUIRES(mu_);

  std::atomic<bool> empty_{true};
  mutable Mutex mu_;
  std::map<std::uintptr_t, std::uintptr_t> ends_ AQUA_GUARDED_BY(mu_);  // begin -> end, apart
};

}  // namespace aqua::device
