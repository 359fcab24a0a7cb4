// SPDX-License-Identifier: Apache-2.0
// Quota bounds what one caller may ask, or one process or user with all that it calls as: requests
// a second (a token bucket that holds one second's worth) and requests at one time.
//
// Threads: every method may be called concurrently.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "aqua/result.hpp"
#include "base/mutex.hpp"

namespace aqua::access {

struct QuotaLimits {
  std::size_t rate = 5000;      // requests a second for each caller
  std::size_t concurrent = 64;  // requests at one time for each caller, its watch included
};

class Quota {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // One request under way; it ends with this. The quota must outlive it.
  class Pass {
   public:
    Pass(Quota& quota, std::string caller) : quota_(&quota), caller_(std::move(caller)) {}
    ~Pass() {
      if (quota_ != nullptr) quota_->leave(caller_);
    }
    Pass(Pass&& other) noexcept
        : quota_(std::exchange(other.quota_, nullptr)), caller_(std::move(other.caller_)) {}
    Pass& operator=(Pass&&) = delete;

   private:
    Quota* quota_;
    std::string caller_;
  };

  explicit Quota(const QuotaLimits& limits) : limits_(limits) {}

  // resource_exhausted beyond either limit.
  [[nodiscard]] Result<Pass> enter(const std::string& caller, Time now);
  [[nodiscard]] std::size_t callers() const;  // remembered; for tests

 private:
  struct Use {
    double left = 0;  // requests that may come at once
    Time as_of;
    std::size_t active = 0;
  };
  void leave(const std::string& caller);
  void refill(Use& use, Time now) const;
  void forget_idle(Time now) AQUA_REQUIRES(mu_);

  const QuotaLimits limits_;
  mutable Mutex mu_;
  std::map<std::string, Use> uses_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::access
