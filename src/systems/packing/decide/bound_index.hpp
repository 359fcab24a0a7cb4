// SPDX-License-Identifier: Apache-2.0
// BoundIndex answers how few engines could hold the sizes it was told, in constant time: Martello
// and Toth's L2, with thresholds at each 64th of the capacity only. It never answers more than L2
// over all thresholds, and so is a lower bound as well.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace aqua::packing {

class BoundIndex {
 public:
  // Forgets all sizes. `capacity` is above 0.
  void reset(std::uint64_t capacity) {
    *this = BoundIndex();
    capacity_ = capacity;
  }
  // A size above the capacity counts as the capacity.
  void add(std::uint64_t size) {
    count_[bucket(size)] += 1;
    sum_[bucket(size)] += std::min(size, capacity_);
  }
  void remove(std::uint64_t size) {
    count_[bucket(size)] -= 1;
    sum_[bucket(size)] -= std::min(size, capacity_);
  }
  [[nodiscard]] std::uint64_t value() const;

 private:
  static constexpr std::uint64_t kBuckets = 64;
  // Sizes in (k - 1, k] 64ths of the capacity are in bucket k.
  [[nodiscard]] std::size_t bucket(std::uint64_t size) const {
    return (std::min(size, capacity_) * kBuckets + capacity_ - 1) / capacity_;
  }

  std::uint64_t capacity_ = 1;
  std::array<std::uint64_t, kBuckets + 1> count_{}, sum_{};
};

}  // namespace aqua::packing
