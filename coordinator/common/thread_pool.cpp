// SPDX-License-Identifier: Apache-2.0
#include "coordinator/common/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "coordinator/common/memory_reserve.hpp"

namespace aqua::coordinator {
namespace {

// nullptr also while its job waits, and while it works on one that went ahead: neither counts as
// worked on.
thread_local ThreadPool* pool_of_thread = nullptr;

}  // namespace

ThreadPool::Blocking::Blocking() : pool_(std::exchange(pool_of_thread, nullptr)) {
  if (pool_ == nullptr) return;
  MutexLock lock(pool_->mu_);
  pool_->came_on();
  pool_->staff();
}

// For a moment more may work than should: better than that this one waits once more.
ThreadPool::Blocking::~Blocking() {
  if (pool_ == nullptr) return;
  pool_of_thread = pool_;
  MutexLock lock(pool_->mu_);
  ++pool_->working_;
}

ThreadPool::~ThreadPool() {
  MutexLock lock(mu_);
  stopping_ = true;
  job_came_.notify_all();
  while (threads_ > 0) thread_ended_.wait(mu_);
}

bool ThreadPool::run(std::function<void()> job, Turn turn) {
  MutexLock lock(mu_);
  const std::size_t begun = threads_ - idle_ - starting_ - reserved_;
  Jobs& jobs = turn == Turn::ahead ? ahead_ : jobs_;
  if (jobs.size() >= limits_.waiting + (limits_.threads - begun)) return false;
  jobs.push_back(std::move(job));
  staff();
  if (threads_ > 0) return true;
  jobs.pop_back();
  return false;
}

void ThreadPool::came_on() {
  --working_;
  came_on_ = std::chrono::steady_clock::now();
}

std::size_t ThreadPool::room() const {
  if (working_ < limits_.working) return limits_.working - working_;
  const bool stuck = std::chrono::steady_clock::now() - came_on_ >= limits_.stuck;
  return stuck || stopping_ ? limits_.threads : 0;
}

bool ThreadPool::may_go_ahead() const {
  return !ahead_.empty() && reserved_ < limits_.reserved;
}

bool ThreadPool::may_work() const {
  return !(jobs_.empty() && ahead_.empty()) && room() > 0 &&
         threads_ - idle_ - starting_ - reserved_ < limits_.threads;
}

void ThreadPool::staff() {
  if (!may_work() && !may_go_ahead()) return;
  const std::size_t ahead = std::min(ahead_.size(), limits_.reserved - reserved_);
  const std::size_t wanted = ahead + std::min(jobs_.size() + ahead_.size() - ahead, room());
  // A stack must not take the memory that others end their work with, but for what cannot wait.
  const bool may_start = threads_ == 0 || may_go_ahead() || !memory_is_short();
  if (idle_ + starting_ < wanted && threads_ < limits_.threads + limits_.reserved && may_start &&
      start_thread()) {
    ++threads_;
    ++starting_;
  }
  if (idle_ > 0) job_came_.notify_one();
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
  --starting_;
  for (;;) {
    const auto patience = std::chrono::steady_clock::now() + limits_.idle;
    ++idle_;
    while (!may_work() && !may_go_ahead() && !stopping_) {
      if (!job_came_.wait_until(mu_, patience)) break;
    }
    const bool ahead = may_go_ahead();
    const bool some = ahead || may_work();
    --idle_;
    if (!some) break;
    Jobs& jobs = ahead_.empty() ? jobs_ : ahead_;
    std::function<void()> job = std::move(jobs.front());
    jobs.pop_front();
    if (ahead) {
      ++reserved_;
    } else {
      if (working_++ == 0) came_on_ = std::chrono::steady_clock::now();
      if (working_ > limits_.working) staff();  // all are stuck: each sees to the next
    }
    pool_of_thread = ahead ? nullptr : this;
    mu_.unlock();
    job();
    job = nullptr;
    mu_.lock();
    if (ahead) {
      --reserved_;
    } else {
      came_on();
    }
  }
  // The destructor may go on as soon as the lock is free; nothing of *this is touched after.
  --threads_;
  thread_ended_.notify_all();
}

}  // namespace aqua::coordinator
