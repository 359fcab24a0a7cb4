// SPDX-License-Identifier: Apache-2.0
// CallbackQueue brings the engine's callbacks to the thread that shall run them: one of its
// own, or the engine's in tick(). They run one at a time and in order, whoever ticks.
//
// Threads: every method may be called concurrently.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>

#include "base/mutex.hpp"
#include "runtime/queues/serial_queue.hpp"

namespace aqua::runtime {

class CallbackQueue {
 public:
  explicit CallbackQueue(bool in_tick)
      : thread_(in_tick ? nullptr : std::make_unique<SerialQueue>()) {}

  void post(std::function<void()> callback) {
    if (thread_ != nullptr) return thread_->post(std::move(callback));
    const MutexLock lock(mu_);
    waiting_.push_back(std::move(callback));
    any_.store(true, std::memory_order_release);
  }

  // Runs what waits for the engine's thread; a nanosecond when nothing does. Returns at once while
  // another tick() runs callbacks, or from within one: what waits is for the next.
  void tick() {
    if (!any_.load(std::memory_order_acquire)) return;
    if (ticking_.exchange(true, std::memory_order_acquire)) return;
    const Ticking end{ticking_};  // also when a callback throws
    std::deque<std::function<void()>> taken;
    {
      const MutexLock lock(mu_);
      taken.swap(waiting_);
      any_.store(false, std::memory_order_relaxed);
    }
    for (const auto& callback : taken) callback();
  }

  void stop() {
    if (thread_ != nullptr) thread_->stop();
  }

 private:
  struct Ticking {
    std::atomic<bool>& flag;
    ~Ticking() { flag.store(false, std::memory_order_release); }
  };

  std::atomic<bool> any_{false};
  std::atomic<bool> ticking_{false};
  Mutex mu_;
  std::deque<std::function<void()>> waiting_ AQUA_GUARDED_BY(mu_);
  const std::unique_ptr<SerialQueue> thread_;
};

}  // namespace aqua::runtime
