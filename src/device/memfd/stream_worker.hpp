// SPDX-License-Identifier: Apache-2.0
// One stream: a thread that runs posted work in order.
//
// Threads: post and stop may be called from any thread but the worker's own.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <thread>

#include "base/mutex.hpp"
#include "device/event_point.hpp"

namespace aqua::device {

class StreamWorker {
 public:
  // Runs on the worker. False: the memory that it touched has died.
  using Work = std::function<bool()>;

  // With a seed, work starts after a pseudo-random delay, so that streams which no event
  // orders really run in different orders.
  explicit StreamWorker(std::optional<std::uint64_t> hostile_seed);
  ~StreamWorker();  // stops
  StreamWorker(const StreamWorker&) = delete;
  StreamWorker& operator=(const StreamWorker&) = delete;

  // False, and nothing queued, once stop() was called.
  [[nodiscard]] bool post(Work work);
  // Blocks until what has been posted by now has run. Allocates nothing.
  void wait();
  // Refuses new work, runs what is queued and ends the thread. Again: waits for the same.
  void stop();

  [[nodiscard]] const std::shared_ptr<FailureLog>& failures() const noexcept { return failures_; }

 private:
  void run();
  void delay();

  const std::shared_ptr<FailureLog> failures_ = std::make_shared<FailureLog>();
  std::optional<std::minstd_rand> delays_;  // the worker's own
  Mutex mu_;
  CondVar changed_;
  CondVar ran_;
  std::deque<Work> queue_ AQUA_GUARDED_BY(mu_);
  std::uint64_t posted_count_ AQUA_GUARDED_BY(mu_) = 0;
  std::uint64_t ran_count_ AQUA_GUARDED_BY(mu_) = 0;
  static constexpr std::uint64_t kNobody = UINT64_MAX;
  std::uint64_t awaited_ AQUA_GUARDED_BY(mu_) = kNobody;  // the least count that anybody waits for
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  Mutex join_mu_;
  std::thread thread_ AQUA_GUARDED_BY(join_mu_);  // last: starts when all else exists
};

}  // namespace aqua::device
