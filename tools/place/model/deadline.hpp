// SPDX-License-Identifier: Apache-2.0
// How much of a time limit is left.
#pragma once

#include <algorithm>
#include <chrono>

namespace aqua::place {

class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  [[nodiscard]] double left() const {  // seconds, never negative
    return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count());
  }
  [[nodiscard]] bool over() const { return left() <= 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

}  // namespace aqua::place
