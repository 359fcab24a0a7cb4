// SPDX-License-Identifier: Apache-2.0
// Locks that name what they guard, checked by clang's -Wthread-safety.
//
//   mutable Mutex mu_;
//   int count_ AQUA_GUARDED_BY(mu_);
//   void trim() AQUA_REQUIRES(mu_);
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define AQUA_TSA(x) __attribute__((x))
#else
#define AQUA_TSA(x)
#endif
#define AQUA_CAPABILITY(x) AQUA_TSA(capability(x))
#define AQUA_SCOPED_CAPABILITY AQUA_TSA(scoped_lockable)
#define AQUA_GUARDED_BY(x) AQUA_TSA(guarded_by(x))
#define AQUA_REQUIRES(...) AQUA_TSA(requires_capability(__VA_ARGS__))
#define AQUA_ACQUIRE(...) AQUA_TSA(acquire_capability(__VA_ARGS__))
#define AQUA_RELEASE(...) AQUA_TSA(release_capability(__VA_ARGS__))
#define AQUA_EXCLUDES(...) AQUA_TSA(locks_excluded(__VA_ARGS__))
#define AQUA_NO_THREAD_SAFETY_ANALYSIS AQUA_TSA(no_thread_safety_analysis)

namespace aqua {

class AQUA_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() AQUA_ACQUIRE() { mu_.lock(); }
  void unlock() AQUA_RELEASE() { mu_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class AQUA_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) AQUA_ACQUIRE(mu) : mu_(mu) { mu_.lock(); }
  ~MutexLock() AQUA_RELEASE() { mu_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// Waits release and retake the mutex. Callers loop on their condition:
//   while (!ready_) cv_.wait(mu_);
class CondVar {
 public:
  void wait(Mutex& mu) AQUA_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    cv_.wait(lock);
    lock.release();
  }
  // False when `deadline` passed first.
  bool wait_until(Mutex& mu, std::chrono::steady_clock::time_point deadline) AQUA_REQUIRES(mu) {
    std::unique_lock<std::mutex> lock(mu.mu_, std::adopt_lock);
    const bool signalled = cv_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return signalled;
  }
  void notify_one() noexcept { cv_.notify_one(); }
  void notify_all() noexcept { cv_.notify_all(); }

 private:
  std::condition_variable cv_;
};

}  // namespace aqua
