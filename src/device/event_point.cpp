// SPDX-License-Identifier: Apache-2.0
#include "device/event_point.hpp"

namespace aqua::device {
namespace {

// Raises it. Nothing where it is as high already.
void raise_to(std::atomic<std::uint64_t>& number, std::uint64_t to) {
  std::uint64_t known = number.load(std::memory_order_relaxed);
  while (known < to && !number.compare_exchange_weak(known, to, std::memory_order_relaxed)) {
  }
}

}  // namespace

void FailureLog::note_failure() {
  static std::atomic<std::uint64_t> last{0};
  raise_to(failed_, last.fetch_add(1, std::memory_order_relaxed) + 1);
}

std::uint64_t FailureLog::unreported() const {
  const std::uint64_t failed = failed_.load(std::memory_order_relaxed);
  return failed > reported_.load(std::memory_order_relaxed) ? failed : 0;
}

void FailureLog::report(std::uint64_t failure) {
  raise_to(reported_, failure);
}

void EventPoint::reach() {
  const MutexLock lock(mu_);
  failure_ = log_->unreported();
  latest_ = log_->latest();
  reached_at_ = std::chrono::steady_clock::now();
  reached_ = true;
  reached_cv_.notify_all();
}

void EventPoint::wait() {
  const MutexLock lock(mu_);
  while (!reached_) reached_cv_.wait(mu_);
}

Result<bool> EventPoint::query() {
  const MutexLock lock(mu_);
  if (!reached_) return false;
  if (failure_ == 0) return true;
  log_->report(failure_);
  return Error{Code::data_loss, "event: work before it touched memory that has died"};
}

std::uint64_t EventPoint::latest_failure() {
  const MutexLock lock(mu_);
  return latest_;
}

std::optional<std::chrono::steady_clock::time_point> EventPoint::reached_at() {
  const MutexLock lock(mu_);
  if (!reached_) return std::nullopt;
  return reached_at_;
}

}  // namespace aqua::device
