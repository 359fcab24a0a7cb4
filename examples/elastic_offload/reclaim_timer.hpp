// SPDX-License-Identifier: Apache-2.0
// ReclaimTimer measures a reclaim as the engine sees it: from the report() whose load makes
// the policy take memory back, until each slab is the device's own again.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "aqua/northbound/load.hpp"

namespace aqua::example {

class ReclaimTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ReclaimTimer(std::size_t slab_bytes) : slab_bytes_(slab_bytes) {}
  // About to report a surge, with so much lent.
  void start(std::size_t lent_bytes, Clock::time_point now);
  // A budget callback.
  void on_budget(const MemoryBudget& budget, Clock::time_point now);

  struct Result {
    std::uint64_t reclaims = 0;     // complete ones
    std::vector<double> slab_ms{};  // a sample for each slab
  };
  [[nodiscard]] Result result() const;

 private:
  const std::size_t slab_bytes_;
  mutable std::mutex mu_;
  Clock::time_point started_{};
  std::size_t lent_bytes_ = 0;  // 0: nothing is being timed
  Result result_;
};

}  // namespace aqua::example
