// SPDX-License-Identifier: Apache-2.0
// Means of the last values, about `window` of them: the first ones count alike, later each moves
// the mean by one part of the window.
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
  // The next value is the first one again. Until then it stays what it was.
  void begin_anew() noexcept { count_ = 0; }
  // 0 before the first.
  [[nodiscard]] double value() const noexcept { return mean_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  double mean_ = 0;
  std::uint64_t count_ = 0;
};

// What one of something takes, as seconds a token: the mean of what several took over the mean of
// how many they were, so that few count for little.
class RunningCost {
 public:
  // Counts what took more than kOutlier times the cost so far as kOutlier times. Where one of the
  // first took less than a kOutlier-th, those before it are forgotten: they were such, as while an
  // engine warms up. What took no time at all is within the noise, and forgets nothing.
  void add(double took, double many, std::uint64_t window) noexcept {
    const double cost = value(), most = kOutlier * cost * many;
    if (took > 0 && kOutlier * took < cost * many && many_.count() < kFirst) {
      took_.begin_anew();
      many_.begin_anew();
    }
    took_.add(cost > 0 ? std::min(took, most) : took, window);
    many_.add(many, window);
  }
  // 0 before the first.
  [[nodiscard]] double value() const noexcept {
    return many_.value() > 0 ? took_.value() / many_.value() : 0;
  }

 private:
  static constexpr double kOutlier = 8;
  static constexpr std::uint64_t kFirst = 16;
  RunningMean took_, many_;
};

}  // namespace aqua::schedule
