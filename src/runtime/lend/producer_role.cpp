// SPDX-License-Identifier: Apache-2.0
#include "runtime/lend/producer_role.hpp"

#include <algorithm>

#include "base/try.hpp"

namespace aqua::runtime {

Result<void> ProducerRole::set_profile(const LoadProfile& profile, const ProducerOptions& options) {
  AQUA_ASSIGN(const ProducerPolicy policy, ProducerPolicy::create(profile, options));
  const MutexLock lock(mu_);
  policy_ = policy;
  total_bytes_ = profile.kv_bytes_total;
  return {};
}

Result<Decision> ProducerRole::observe(const LoadReport& report, std::size_t lent,
                                       Clock::time_point now) {
  AQUA_TRY(validate(report));
  const MutexLock lock(mu_);
  if (!policy_) return Decision{};
  // The one of two threads that read its clock first may come second.
  now = latest_report_ = std::max(latest_report_, now);
  if (now > promised_until_) promised_bytes_ = 0;
  // What is promised is as good as lent, and what is being returned as good as back: else the
  // policy would decide the same again with each report.
  const bool waiting = reclaim_ != nullptr && !reclaim_->done();
  const std::size_t returning = waiting ? reclaim_->missing_bytes() : 0;
  policy_->set_lent_bytes(lent - std::min(lent, returning) + promised_bytes_);
  AQUA_ASSIGN(const Decision decision, policy_->observe(report, now));
  if (decision.action == ProducerAction::offer) {
    promised_bytes_ += decision.bytes;
    promised_until_ = now + kPromise;
  } else if (decision.action == ProducerAction::reclaim) {
    promised_bytes_ = 0;
  }
  return decision;
}

void ProducerRole::kept_promise() {
  const MutexLock lock(mu_);
  promised_bytes_ = 0;
}

void ProducerRole::reclaiming(std::shared_ptr<ReclaimState> reclaim) {
  const MutexLock lock(mu_);
  reclaim_ = std::move(reclaim);
}

std::size_t ProducerRole::engine_bytes(std::size_t device_bytes, std::size_t lent) const {
  const MutexLock lock(mu_);
  const std::size_t total = total_bytes_ > 0 ? total_bytes_ : device_bytes;
  return total - std::min(total, lent + promised_bytes_);
}

}  // namespace aqua::runtime
