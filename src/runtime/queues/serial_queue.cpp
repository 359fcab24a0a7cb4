// SPDX-License-Identifier: Apache-2.0
#include "runtime/queues/serial_queue.hpp"

namespace aqua::runtime {

SerialQueue::SerialQueue() : thread_([this] { run(); }) {}

void SerialQueue::post(Task task) {
  {
    const MutexLock lock(mu_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void SerialQueue::stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SerialQueue::run() {
  for (;;) {
    Task task;
    {
      const MutexLock lock(mu_);
      while (tasks_.empty() && !stopping_) changed_.wait(mu_);
      if (stopping_) return;  // what waits is dropped
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace aqua::runtime
