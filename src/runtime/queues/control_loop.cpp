// SPDX-License-Identifier: Apache-2.0
#include "runtime/queues/control_loop.hpp"

namespace aqua::runtime {

void ControlLoop::start(Step step) {
  thread_ = std::thread([this, step = std::move(step)] { run(step); });
}

void ControlLoop::stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ControlLoop::post(std::function<void()> task) {
  {
    const MutexLock lock(mu_);
    inbox_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void ControlLoop::nudge() {
  {
    const MutexLock lock(mu_);
    nudged_ = true;
  }
  changed_.notify_one();
}

void ControlLoop::run(const Step& step) {
  Clock::time_point next = Clock::now();
  for (;;) {
    std::vector<std::function<void()>> tasks;
    {
      const MutexLock lock(mu_);
      while (inbox_.empty() && !nudged_ && !stopping_) {
        if (!changed_.wait_until(mu_, next)) break;
      }
      if (stopping_) return;
      tasks.swap(inbox_);
      nudged_ = false;
    }
    // Without the lock: tasks and the step post to this loop themselves.
    for (const auto& task : tasks) task();
    next = step(Clock::now());
  }
}

}  // namespace aqua::runtime
