// SPDX-License-Identifier: Apache-2.0
// Readiness says whether this daemon should be sent requests: GET /readyz and aqua_ready.
//
// Threads: any.
#pragma once

#include <atomic>

namespace aqua::coordinator {

class Readiness {
 public:
  enum class State {
    starting,  // its state is not restored yet, or nothing listens
    ready,
    draining,  // it is about to stop
  };
  void set(State state) noexcept { state_ = state; }
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool ready() const noexcept { return state_ == State::ready; }

 private:
  std::atomic<State> state_ = State::starting;
};

}  // namespace aqua::coordinator
