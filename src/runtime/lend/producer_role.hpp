// SPDX-License-Identifier: Apache-2.0
// ProducerRole: what an engine's load means for its lending. It asks the ProducerPolicy
// (aqua/northbound/producer_policy.hpp) and remembers what has been decided and is not yet so:
// bytes that the engine was told to free and lend, and a reclaim that is under way. Threads: any.
#pragma once

#include <memory>
#include <optional>

#include "aqua/northbound/producer_policy.hpp"
#include "base/mutex.hpp"
#include "runtime/lend/reclaim_state.hpp"
#include "runtime/queues/control_loop.hpp"

namespace aqua::runtime {

class ProducerRole {
 public:
  // How long the engine has to free memory and call lend() once an offer is decided.
  static constexpr std::chrono::seconds kPromise{10};

  // What create() of the policy refuses is refused here, and the role stays as it is.
  [[nodiscard]] Result<void> set_profile(const LoadProfile& profile,
                                         const ProducerOptions& options);

  // Validates the report, and judges it while `lent` bytes are lent. Without a profile the
  // decision is to do nothing.
  [[nodiscard]] Result<Decision> observe(const LoadReport& report, std::size_t lent,
                                         Clock::time_point now);
  // The engine has lent: nothing is promised any longer.
  void kept_promise();
  // The reclaim that the last decision led to; what it still waits for is not asked for again.
  void reclaiming(std::shared_ptr<ReclaimState> reclaim);

  // What the engine may use, of its profile's bytes or else of `device_bytes`.
  [[nodiscard]] std::size_t engine_bytes(std::size_t device_bytes, std::size_t lent) const;

 private:
  mutable Mutex mu_;
  std::optional<ProducerPolicy> policy_ AQUA_GUARDED_BY(mu_);
  std::size_t total_bytes_ AQUA_GUARDED_BY(mu_) = 0;     // of the profile
  std::size_t promised_bytes_ AQUA_GUARDED_BY(mu_) = 0;  // decided to offer, not yet lent
  Clock::time_point promised_until_ AQUA_GUARDED_BY(mu_){};
  Clock::time_point latest_report_ AQUA_GUARDED_BY(mu_){};
  std::shared_ptr<ReclaimState> reclaim_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::runtime
