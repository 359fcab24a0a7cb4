// SPDX-License-Identifier: Apache-2.0
// CopyCosts: what a block's way back from each tier took lately, told to a scheduler. Of the last
// few copies the quickest counts: whatever else a machine does makes a copy slower, and nothing
// quicker.
//
// Threads: the engine's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

#include "aqua/schedule/scheduler.hpp"
#include "must.hpp"

namespace aqua::example {

class CopyCosts {
 public:
  static constexpr std::size_t kLast = 16;

  // `blocks` blocks came back from `tier` in so many seconds. What is too short for the clock to
  // see is left out.
  void came_back(schedule::Scheduler& scheduler, Tier tier, std::size_t blocks, double seconds) {
    if (tier == Tier::local || blocks == 0 || seconds <= 0) return;
    std::deque<double>& last = tier == Tier::peer ? peer_ : host_;
    if (last.size() == kLast) last.pop_front();
    last.push_back(seconds / static_cast<double>(blocks));
    must(scheduler.set_seconds_per_block(tier, seconds_per_block(tier)), "set_seconds_per_block");
  }
  // 0: nothing has come back from there.
  [[nodiscard]] double seconds_per_block(Tier tier) const {
    const std::deque<double>& last = tier == Tier::peer ? peer_ : host_;
    return last.empty() ? 0 : *std::min_element(last.begin(), last.end());
  }

 private:
  std::deque<double> peer_{}, host_{};
};

}  // namespace aqua::example
