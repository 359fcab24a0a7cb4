// SPDX-License-Identifier: Apache-2.0
// Stalls measures for how long a busy machine keeps a thread waiting that wants to run: the only
// thing that may be added to a promised time.
//
// Threads: one owner; a thread of its own measures.
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace aqua::kill_test {

class Stalls {
 public:
  [[nodiscard]] std::chrono::milliseconds so_far() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(late_.load());
  }

 private:
  using Clock = std::chrono::steady_clock;

  void measure(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto due = Clock::now() + std::chrono::milliseconds(1);
      std::this_thread::sleep_until(due);
      const auto late = Clock::now() - due;
      if (late > std::chrono::milliseconds(1)) late_ = late_.load() + late;
    }
  }

  std::atomic<Clock::duration> late_{Clock::duration::zero()};
  const std::jthread thread_{[this](const std::stop_token& stop) { measure(stop); }};
};

}  // namespace aqua::kill_test
