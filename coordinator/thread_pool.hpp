// ThreadPool runs each job at once on a thread of its own kind: idle ones are reused, new
// ones are started up to `max_threads`, and jobs wait only beyond that. Long polls may so
// hold hundreds of threads and still starve nobody.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>

#include "base/mutex.hpp"

namespace aqua::coordinator {

class ThreadPool {
 public:
  // Of each thread: a handler needs far less, and hundreds of the default would be gigabytes.
  static constexpr std::size_t kStackBytes = std::size_t{1} << 20;

  // Idle threads end after `idle`. At most `max_waiting` jobs wait for a thread.
  ThreadPool(std::size_t max_threads, std::size_t max_waiting, std::chrono::milliseconds idle);
  // Waits for every job. Jobs must not throw.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False when the job was refused: too many wait, or no thread can be had.
  [[nodiscard]] bool run(std::function<void()> job);

 private:
  [[nodiscard]] bool start_thread();
  void work();

  const std::size_t max_threads_;
  const std::size_t max_waiting_;
  const std::chrono::milliseconds idle_;

  Mutex mu_;
  CondVar job_came_;
  CondVar thread_ended_;
  std::deque<std::function<void()>> jobs_ AQUA_GUARDED_BY(mu_);
  std::size_t threads_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t idle_threads_ AQUA_GUARDED_BY(mu_) = 0;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::coordinator
