// SPDX-License-Identifier: Apache-2.0
// A recorded point of one stream, shared by the stream that reaches it and whoever waits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "aqua/result.hpp"
#include "base/mutex.hpp"

namespace aqua::device {

// The latest piece of work of one stream that failed, and the latest that some event has reported.
// Failures have numbers, which are never given twice in a process and grow. Safe from any thread.
class FailureLog {
 public:
  void note_failure();
  // The number of the latest failure, whether it has been reported or not. 0: none.
  [[nodiscard]] std::uint64_t latest() const { return failed_.load(std::memory_order_relaxed); }
  // The number of the latest failure, or 0 when it has been reported.
  [[nodiscard]] std::uint64_t unreported() const;
  void report(std::uint64_t failure);

 private:
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> reported_{0};
};

class EventPoint {
 public:
  explicit EventPoint(std::shared_ptr<FailureLog> log) : log_(std::move(log)) {}

  void reach();  // by the stream, once
  void wait();   // until reached
  // False until reached; data_loss when work before it failed, which counts as reporting it.
  [[nodiscard]] Result<bool> query();
  // FailureLog::latest() when it was reached; 0 before.
  [[nodiscard]] std::uint64_t latest_failure();
  // When it was reached; nothing before.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> reached_at();

 private:
  const std::shared_ptr<FailureLog> log_;
  Mutex mu_;
  CondVar reached_cv_;
  bool reached_ AQUA_GUARDED_BY(mu_) = false;
  std::chrono::steady_clock::time_point reached_at_ AQUA_GUARDED_BY(mu_);
  std::uint64_t failure_ AQUA_GUARDED_BY(mu_) = 0;  // unreported; 0: none
  std::uint64_t latest_ AQUA_GUARDED_BY(mu_) = 0;   // reported or not
};

}  // namespace aqua::device
