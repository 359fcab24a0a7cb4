// SPDX-License-Identifier: Apache-2.0
// SecondLook asks the coordinator for a snapshot where its books and ours may differ although the
// session goes on: a report of ours failed, or an answer and a snapshot crossed. The snapshot is
// settled like the one that begins a session, and what was not heard is told again. Calls whose
// answer was lost are settled by the link, which asks for a snapshot itself.
//
// Threads: want() from any; step() on the control loop. At most one look is under way.
#pragma once

#include <algorithm>
#include <functional>

#include "runtime/services.hpp"

namespace aqua::runtime {

class SecondLook {
 public:
  // How long a failed report waits for the next look: a coordinator that refuses is not hammered.
  static constexpr std::chrono::milliseconds kAfterFailure{1000};
  using Settle = std::function<void(const wire::Snapshot&)>;

  // `settle` runs on the control loop. `services` outlives it.
  SecondLook(Services& services, Settle settle) : services_(services), settle_(std::move(settle)) {}

  // Looks at `at`, or earlier when that was wanted already.
  void want(Clock::time_point at) {
    services_.loop.post([this, at] { next_ = std::min(next_, at); });
  }
  // Returns when it wants to be called again at the latest.
  [[nodiscard]] Clock::time_point step(Clock::time_point now) {
    if (looking_) return Clock::time_point::max();  // its end wakes the loop
    if (next_ > now) return next_;
    next_ = Clock::time_point::max();
    // The next session begins with a snapshot, so nothing is missed without one.
    if (services_.coordinator == nullptr || !services_.coordinator->connected()) return next_;
    looking_ = true;
    services_.coordinator_calls.post([this] {
      auto snapshot = services_.coordinator->snapshot();
      services_.loop.post([this, snapshot = std::move(snapshot)] {
        looking_ = false;
        if (snapshot.ok()) return settle_(*snapshot);
        next_ = std::min(next_, Clock::now() + kAfterFailure);
      });
    });
    return next_;
  }

 private:
  Services& services_;
  const Settle settle_;
  bool looking_ = false;
  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace aqua::runtime
