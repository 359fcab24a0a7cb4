// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/lending/lent_schedule.hpp"

#include <algorithm>

namespace aqua::sim {
Picos LentSchedule::next() const {
  const bool waits = done_ == changes_.size() || market_.reclaiming();
  return std::min(waits ? kNever : changes_[done_].at, market_.next_change());
}

void LentSchedule::act(Picos now, Picos /*horizon*/) {
  market_.advance(now);
  while (done_ < changes_.size() && changes_[done_].at <= now && !market_.reclaiming()) {
    const double more = changes_[done_++].bytes - market_.lent_bytes();
    if (more > 0) {
      (void)market_.offer(more, now);
    } else {
      (void)market_.reclaim(-more, now + kReclaimPatience, now);
    }
  }
  engine_.rebalance(now);
}

}  // namespace aqua::sim
