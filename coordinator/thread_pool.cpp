#include "coordinator/thread_pool.hpp"

#include <pthread.h>

#include <utility>

namespace aqua::coordinator {

ThreadPool::ThreadPool(std::size_t max_threads, std::size_t max_waiting,
                       std::chrono::milliseconds idle)
    : max_threads_(max_threads), max_waiting_(max_waiting), idle_(idle) {}

ThreadPool::~ThreadPool() {
  MutexLock lock(mu_);
  stopping_ = true;
  job_came_.notify_all();
  while (threads_ > 0) thread_ended_.wait(mu_);
}

bool ThreadPool::run(std::function<void()> job) {
  MutexLock lock(mu_);
  // Jobs that already wait have a claim on the idle threads.
  const bool must_grow = idle_threads_ <= jobs_.size();
  if (must_grow && threads_ < max_threads_) {
    if (start_thread()) {
      ++threads_;
    } else if (threads_ == 0) {
      return false;
    }
  }
  if (jobs_.size() >= max_waiting_ + idle_threads_ + 1) return false;
  jobs_.push_back(std::move(job));
  job_came_.notify_one();
  return true;
}

bool ThreadPool::start_thread() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread{};
  const auto run = [](void* pool) -> void* {
    static_cast<ThreadPool*>(pool)->work();
    return nullptr;
  };
  const bool started = ::pthread_create(&thread, &attributes, run, this) == 0;
  ::pthread_attr_destroy(&attributes);
  return started;
}

void ThreadPool::work() {
  MutexLock lock(mu_);
  for (;;) {
    const auto patience = std::chrono::steady_clock::now() + idle_;
    ++idle_threads_;
    while (jobs_.empty() && !stopping_) {
      if (!job_came_.wait_until(mu_, patience)) break;
    }
    --idle_threads_;
    if (jobs_.empty()) break;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    mu_.unlock();
    job();
    job = nullptr;
    mu_.lock();
  }
  // The destructor may go on as soon as the lock is free; nothing of *this is touched after.
  --threads_;
  thread_ended_.notify_all();
}

}  // namespace aqua::coordinator
