// SPDX-License-Identifier: Apache-2.0
// How long a consumer asks for nothing after imports that will fail again: a pair that cannot share
// memory would be granted it anew at once, and each time the lender scrubs what nobody has used.
// One that may pass by itself, as of a lender that has just died, costs a moment: a lender that
// lives but whose socket is gone would otherwise be asked as fast as it scrubs.
//
// Threads: not thread-safe; the control loop's.
#pragma once

#include <algorithm>
#include <chrono>

#include "aqua/result.hpp"

namespace aqua::runtime {

class RefusedImports {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPassing{250};
  static constexpr std::chrono::seconds kLeast{1};
  static constexpr std::chrono::seconds kMost{64};

  // The wait that begins now: twice the one before, unless none was refused for as long again since
  // that was over. None that is worth telling (kPassing at most) for a refusal that may pass by
  // itself, or while one waits already.
  std::chrono::seconds refused(Code code, Clock::time_point now) {
    const bool lasts = code == Code::invalid_argument || code == Code::failed_precondition ||
                       code == Code::permission_denied || code == Code::unimplemented;
    if (!lasts) passing_until_ = now + kPassing;
    if (!lasts || now < until_) return {};
    const bool anew = now > until_ + wait_;
    wait_ = anew ? kLeast : std::min(2 * wait_, kMost);
    until_ = now + wait_;
    return wait_;
  }
  // Other producers may be there.
  void reset() { *this = {}; }
  [[nodiscard]] Clock::time_point until() const { return std::max(until_, passing_until_); }

 private:
  std::chrono::seconds wait_{0};
  Clock::time_point until_{};
  Clock::time_point passing_until_{};
};

}  // namespace aqua::runtime
