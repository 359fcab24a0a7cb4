// SPDX-License-Identifier: Apache-2.0
// Waits between attempts: the bound doubles from `min` to `max`, and each wait is drawn
// evenly below it, so that many clients of a restarted coordinator do not come back at once.
//
// Threads: one.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>

namespace aqua::southbound {

class Backoff {
 public:
  Backoff(std::chrono::milliseconds min, std::chrono::milliseconds max)
      : min_(std::max(min, std::chrono::milliseconds{1})),
        max_(std::max(max, min_)),
        bound_(min_) {}

  // Between 1 ms and the bound, which grows.
  [[nodiscard]] std::chrono::milliseconds next() {
    std::uniform_int_distribution<std::chrono::milliseconds::rep> below(1, bound_.count());
    bound_ = std::min(bound_ * 2, max_);
    return std::chrono::milliseconds{below(random_)};
  }
  void reset() noexcept { bound_ = min_; }

 private:
  const std::chrono::milliseconds min_;
  const std::chrono::milliseconds max_;
  std::chrono::milliseconds bound_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace aqua::southbound
