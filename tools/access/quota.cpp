// SPDX-License-Identifier: Apache-2.0
#include "tools/access/quota.hpp"

#include <algorithm>
#include <iterator>

#include "base/concat.hpp"

namespace aqua::access {
namespace {

// Beyond this many callers the idle ones are forgotten: they have their full second again.
constexpr std::size_t kMaxRemembered = 4096;

}  // namespace

void Quota::refill(Use& use, Time now) const {
  const auto rate = static_cast<double>(limits_.rate);
  const double seconds = std::max(std::chrono::duration<double>(now - use.as_of).count(), 0.0);
  use.left = std::min(rate, use.left + seconds * rate);
  use.as_of = now;
}

Result<Quota::Pass> Quota::enter(const std::string& caller, Time now) {
  MutexLock lock(mu_);
  if (uses_.size() >= kMaxRemembered && !uses_.contains(caller)) forget_idle(now);
  const auto [at, is_new] =
      uses_.try_emplace(caller, Use{static_cast<double>(limits_.rate), now, 0});
  Use& use = at->second;
  refill(use, now);
  if (use.active >= limits_.concurrent) {
    return Error{Code::resource_exhausted,
                 concat(caller, " has ", use.active, " requests under way, at most ",
                        limits_.concurrent, " at one time")};
  }
  if (use.left < 1) {
    return Error{Code::resource_exhausted,
                 concat(caller, " asks more than ", limits_.rate, " times a second")};
  }
  use.left -= 1;
  ++use.active;
  return Pass(*this, caller);
}

void Quota::leave(const std::string& caller) {
  MutexLock lock(mu_);
  --uses_.at(caller).active;
}

void Quota::forget_idle(Time now) {
  for (auto at = uses_.begin(); at != uses_.end();) {
    refill(at->second, now);
    const bool idle =
        at->second.active == 0 && at->second.left >= static_cast<double>(limits_.rate);
    at = idle ? uses_.erase(at) : std::next(at);
  }
}

std::size_t Quota::callers() const {
  MutexLock lock(mu_);
  return uses_.size();
}

}  // namespace aqua::access
