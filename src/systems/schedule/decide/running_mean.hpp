// SPDX-License-Identifier: Apache-2.0
// RunningMean is the mean of the last values, about `window` of them: the first ones count alike,
// later each moves it by one part of the window.
//
// Threads: not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace aqua::schedule {

class RunningMean {
 public:
  void add(double value, std::uint64_t window) noexcept {
    count_ += 1;
    mean_ += (value - mean_) / static_cast<double>(std::min(count_, window));
  }
  // As add(), but one that is larger counts as `most` means. The first is taken as it is.
  void add_within(double most, double value, std::uint64_t window) noexcept {
    add(count_ == 0 ? value : std::min(value, most * mean_), window);
  }
  // The next value is the first one again. Until then it stays what it was.
  void begin_anew() noexcept { count_ = 0; }
  // 0 before the first.
  [[nodiscard]] double value() const noexcept { return mean_; }

 private:
  double mean_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace aqua::schedule
