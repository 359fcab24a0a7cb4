// SPDX-License-Identifier: Apache-2.0
// ControlLoop is the runtime's one thread of decisions: it takes what others have posted,
// then steps its parts, then sleeps until there is something new or a part's next time.
//
// Threads: post() and nudge() from any, also from within. Everything posted, and step, runs
//          on the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.hpp"

namespace aqua::runtime {

using Clock = std::chrono::steady_clock;

class ControlLoop {
 public:
  // Does what can be done now and says when to be called again at the latest.
  using Step = std::function<Clock::time_point(Clock::time_point now)>;

  ControlLoop() = default;
  ~ControlLoop() { stop(); }
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  void start(Step step);
  // Waits for the step in progress. Later posts are kept and never run.
  void stop();
  // Runs the task, then a step.
  void post(std::function<void()> task);
  // Brings the next step forward to now.
  void nudge();

 private:
  void run(const Step& step);

  Mutex mu_;
  CondVar changed_;
  std::vector<std::function<void()>> inbox_ AQUA_GUARDED_BY(mu_);
  bool nudged_ AQUA_GUARDED_BY(mu_) = false;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::runtime
