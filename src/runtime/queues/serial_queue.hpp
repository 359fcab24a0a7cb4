// SPDX-License-Identifier: Apache-2.0
// SerialQueue runs tasks one after the other on a thread of its own: calls that block on a
// socket, callbacks into the engine.
//
// Threads: post from any. stop() must not be called from a task.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.hpp"

namespace aqua::runtime {

class SerialQueue {
 public:
  using Task = std::function<void()>;

  SerialQueue();
  ~SerialQueue() { stop(); }
  SerialQueue(const SerialQueue&) = delete;
  SerialQueue& operator=(const SerialQueue&) = delete;

  // Dropped once stop() was called.
  void post(Task task);
  // Waits for the task in progress and drops the others.
  void stop();

 private:
  void run();

  Mutex mu_;
  CondVar changed_;
  std::deque<Task> tasks_ AQUA_GUARDED_BY(mu_);
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aqua::runtime
