// SPDX-License-Identifier: Apache-2.0
// Deadline is a time limit that remembers whether it ended a search early.
//
// Threads: one, with all parts of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>

namespace aqua::place {

class Deadline {
 public:
  explicit Deadline(double seconds) : Deadline(seconds, std::make_shared<bool>(false)) {}

  // A limit of `share` of what is left. What it ends early, this one has ended early too: hit().
  [[nodiscard]] Deadline part(double share) const { return Deadline(left() * share, hit_); }

  [[nodiscard]] double left() const {  // seconds, never negative
    return std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count());
  }
  // Asked by a search that has more to do, which stops where this is true.
  [[nodiscard]] bool over() const {
    if (left() > 0) return false;
    cut_short();
    return true;
  }
  // Says that a search has ended early, as over() does.
  void cut_short() const { *hit_ = true; }
  // Whether it, its whole or any part of that has ended a search early: with more time the result
  // may be another one.
  [[nodiscard]] bool hit() const { return *hit_; }

 private:
  using Clock = std::chrono::steady_clock;
  Deadline(double seconds, std::shared_ptr<bool> hit)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
        hit_(std::move(hit)) {}

  Clock::time_point end_;
  std::shared_ptr<bool> hit_;
};

}  // namespace aqua::place
