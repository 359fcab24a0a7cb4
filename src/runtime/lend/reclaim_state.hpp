// SPDX-License-Identifier: Apache-2.0
// ReclaimState is the progress of one reclaim, which Reclaim handles read and wait for.
//
// Threads: every method may be called concurrently; the control loop writes, anybody reads.
#pragma once

#include <chrono>
#include <cstdint>

#include "aqua/runtime.hpp"
#include "base/mutex.hpp"

namespace aqua {

class ReclaimState {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  ReclaimState(std::size_t bytes_wanted, TimePoint started, TimePoint deadline)
      : started_(started), deadline_(deadline) {
    progress_.bytes_wanted = bytes_wanted;
  }

  // A slab is back. Done when that was the last that is wanted.
  void credit(std::size_t bytes, TimePoint now);
  // Less was lent than was asked for.
  void limit_wanted(std::size_t bytes);
  void finish(std::vector<Holder> holders);
  // The runtime closes: nobody waits any longer for what is not done.
  void close();

  [[nodiscard]] ReclaimProgress progress() const;
  [[nodiscard]] Result<ReclaimProgress> wait() const;
  [[nodiscard]] bool done() const { return progress().done; }
  [[nodiscard]] std::size_t missing_bytes() const;
  [[nodiscard]] TimePoint deadline() const noexcept { return deadline_; }

 private:
  void settle() AQUA_REQUIRES(mu_);

  const TimePoint started_;
  const TimePoint deadline_;
  mutable Mutex mu_;
  mutable CondVar changed_;
  ReclaimProgress progress_ AQUA_GUARDED_BY(mu_);
  bool closed_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua
