// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/stream_worker.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace aqua::device {

StreamWorker::StreamWorker(std::optional<std::uint64_t> hostile_seed) {
  if (hostile_seed) {
    delays_.emplace(
        static_cast<std::minstd_rand::result_type>(*hostile_seed ^ *hostile_seed >> 32));
  }
  thread_ = std::thread([this] { run(); });
}

StreamWorker::~StreamWorker() {
  stop();
}

bool StreamWorker::post(Work work) {
  const MutexLock lock(mu_);
  if (stopping_) return false;
  queue_.push_back(std::move(work));
  ++posted_count_;
  changed_.notify_one();
  return true;
}

void StreamWorker::wait() {
  const MutexLock lock(mu_);
  const std::uint64_t all = posted_count_;
  while (ran_count_ < all) {
    awaited_ = std::min(awaited_, all);
    ran_.wait(mu_);
  }
}

void StreamWorker::stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.notify_one();
  }
  const MutexLock lock(join_mu_);
  if (thread_.joinable()) thread_.join();
}

void StreamWorker::run() {
  for (;;) {
    Work work;
    {
      const MutexLock lock(mu_);
      while (queue_.empty() && !stopping_) changed_.wait(mu_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    delay();
    if (!work()) failures_->note_failure();
    const MutexLock lock(mu_);
    ++ran_count_;
    // Nobody is woken before its work has run: an engine would wake for each copy of a step.
    if (ran_count_ < awaited_) continue;
    awaited_ = kNobody;  // who waits for more says so again
    ran_.notify_all();
  }
}

void StreamWorker::delay() {
  if (!delays_) return;
  const auto roll = (*delays_)() % 400;
  if (roll < 200) std::this_thread::sleep_for(std::chrono::microseconds(roll));
}

}  // namespace aqua::device
