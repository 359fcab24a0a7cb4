// SPDX-License-Identifier: Apache-2.0
#include "reclaim_timer.hpp"

namespace aqua::example {

void ReclaimTimer::start(std::size_t lent_bytes, Clock::time_point now) {
  const std::lock_guard lock(mu_);
  started_ = now;
  lent_bytes_ = lent_bytes;
}

void ReclaimTimer::on_budget(const MemoryBudget& budget, Clock::time_point now) {
  const std::lock_guard lock(mu_);
  if (lent_bytes_ == 0 || budget.reason != BudgetReason::reclaimed) return;
  const double ms = std::chrono::duration<double, std::milli>(now - started_).count();
  // One callback may speak for several slabs.
  for (; budget.lent_bytes < lent_bytes_; lent_bytes_ -= slab_bytes_) {
    result_.slab_ms.push_back(ms);
    if (lent_bytes_ <= slab_bytes_) {
      lent_bytes_ = 0;
      ++result_.reclaims;
      return;
    }
  }
}

ReclaimTimer::Result ReclaimTimer::result() const {
  const std::lock_guard lock(mu_);
  return result_;
}

}  // namespace aqua::example
