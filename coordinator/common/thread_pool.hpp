// SPDX-License-Identifier: Apache-2.0
// ThreadPool works on a few jobs at one time, which is quickest, however many there are: a job
// that waits for something else says so (Blocking), and meanwhile another one has its turn, on a
// thread that is started where none is idle. Long polls may so hold hundreds of threads and still
// starve nobody. Nor does a job that is stuck without saying so (behind a lock whose owner waits
// for a disk): while none of those at work comes on, newly arriving jobs have theirs beside them.
// Jobs that must not wait go ahead of the others, on a few threads that no other job gets.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>

#include "base/mutex.hpp"

namespace aqua::coordinator {

struct PoolLimits {
  std::size_t threads = 640;   // jobs begun and not done, those that wait included
  std::size_t working = 8;     // of these, worked on at one time
  std::size_t waiting = 1024;  // jobs that wait for a thread, beyond those that may have one
  std::size_t reserved = 0;    // threads besides those, for jobs that go ahead
  std::chrono::milliseconds idle{10'000};  // after which an idle thread ends
  std::chrono::milliseconds stuck{50};  // without a job's end or wait, after which `working` is off
};

class ThreadPool {
 public:
  // Each thread's stack: a handler needs far less, and hundreds of the default would be gigabytes.
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;

  // While it lives the job at hand waits: for a socket, a disk, an event. Meanwhile no more
  // than a moment's work may be done, or work of which only one is done at a time. Elsewhere than
  // in a job, and within another Blocking, it does nothing.
  class Blocking {
   public:
    Blocking();
    ~Blocking();
    Blocking(const Blocking&) = delete;
    Blocking& operator=(const Blocking&) = delete;

   private:
    ThreadPool* const pool_;
  };

  explicit ThreadPool(const PoolLimits& limits) : limits_(limits) {}
  // Waits for every job. Jobs must not throw.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  enum class Turn : std::uint8_t { in_order, ahead };

  // False when the job was refused: too many wait, or no thread can be had.
  [[nodiscard]] bool run(std::function<void()> job, Turn turn = Turn::in_order);

 private:
  using Jobs = std::deque<std::function<void()>>;
  [[nodiscard]] bool start_thread();
  void work();
  // Whether a job may be taken now: one that goes ahead, on a reserved thread; any, on another.
  [[nodiscard]] bool may_go_ahead() const AQUA_REQUIRES(mu_);
  [[nodiscard]] bool may_work() const AQUA_REQUIRES(mu_);
  // How many may be worked on at this moment.
  [[nodiscard]] std::size_t room() const AQUA_REQUIRES(mu_);
  // One fewer is worked on.
  void came_on() AQUA_REQUIRES(mu_);
  // Sees to it that somebody takes what may be worked on now.
  void staff() AQUA_REQUIRES(mu_);

  const PoolLimits limits_;

  Mutex mu_;
  CondVar job_came_;
  CondVar thread_ended_;
  Jobs jobs_ AQUA_GUARDED_BY(mu_);   // in order
  Jobs ahead_ AQUA_GUARDED_BY(mu_);  // ahead of them
  std::size_t threads_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t starting_ AQUA_GUARDED_BY(mu_) = 0;  // of these, not in work() yet
  std::size_t idle_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t reserved_ AQUA_GUARDED_BY(mu_) = 0;  // of these, with a job that went ahead
  std::size_t working_ AQUA_GUARDED_BY(mu_) = 0;   // the others have a job that waits
  std::chrono::steady_clock::time_point came_on_ AQUA_GUARDED_BY(mu_){};  // the last of them
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
};

}  // namespace aqua::coordinator
