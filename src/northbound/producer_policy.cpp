// SPDX-License-Identifier: Apache-2.0
#include "aqua/northbound/producer_policy.hpp"

#include <algorithm>
#include <cmath>
#include <string>

// The policy has two bands with a gap between them, so that a load at one level never flips it.
// Above `rise` it reclaims all at once; below `settle`, for settle_time, it offers; in the gap it
// reclaims only what longer contexts need. lent_ is what it has decided to lend, which may not be
// lent yet.
namespace aqua {

Result<ProducerPolicy> ProducerPolicy::create(const LoadProfile& profile,
                                              const ProducerOptions& options) {
  const auto number = [](double x) { return std::isfinite(x) && x >= 0; };
  const auto band = [&](const LoadBand& b) {
    return number(b.rate_ratio) && number(b.rate_slack) && number(b.queue_ratio) &&
           number(b.queue_slack);
  };
  const LoadBand &r = options.rise, &s = options.settle;
  if (!number(profile.steady_requests_per_second) || !number(profile.steady_queue_length) ||
      profile.steady_free_bytes > profile.kv_bytes_total) {
    return Error{Code::invalid_argument,
                 "producer policy: the profile has a negative number or "
                 "more free bytes than bytes"};
  }
  if (!band(r) || !band(s) || s.rate_ratio >= r.rate_ratio || s.rate_slack > r.rate_slack ||
      s.queue_ratio >= r.queue_ratio || s.queue_slack > r.queue_slack) {
    return Error{Code::invalid_argument, "producer policy: settle must lie below rise"};
  }
  if (!number(options.headroom) || options.headroom >= 1 || options.settle_time.count() < 0 ||
      options.min_time_between_flips.count() < 0) {
    return Error{Code::invalid_argument,
                 "producer policy: headroom must be in [0, 1), times not negative"};
  }
  return ProducerPolicy(profile, options);
}

Result<Decision> ProducerPolicy::observe(const LoadReport& report, TimePoint now) {
  if (auto valid = validate(report); !valid.ok()) return std::move(valid).error();
  if (last_report_ && now < *last_report_) {
    return Error{Code::invalid_argument, "producer policy: a report from the past"};
  }
  // Starts the calm over after a silence longer than settle_time: nothing is known of the load
  // then.
  const bool silent = last_report_ && now - *last_report_ > options_.settle_time;
  last_report_ = now;
  if (above(options_.rise, report)) return reclaim(lent_, now);
  const std::size_t room = profile_.kv_bytes_total - std::min(lent_, profile_.kv_bytes_total);
  if (lent_ > 0 && report.kv_bytes_wanted > room) {
    // Reclaims for longer contexts under the same load: what is missing, and headroom, or the next
    // report would ask again.
    const std::size_t missing = std::min(lent_, report.kv_bytes_wanted - room);
    return reclaim(missing + std::min(lent_ - missing, headroom_bytes()), now);
  }
  if (above(options_.settle, report)) {
    calm_since_.reset();
    return Decision{};
  }
  if (!calm_since_ || silent) calm_since_ = now;
  return offer(report, now);
}

bool ProducerPolicy::is_producer() const noexcept {
  return profile_.steady_free_bytes > 0 &&
         profile_.steady_free_bytes >= profile_.producer_threshold_bytes;
}

bool ProducerPolicy::above(const LoadBand& band, const LoadReport& report) const {
  return report.requests_per_second >
             profile_.steady_requests_per_second * band.rate_ratio + band.rate_slack ||
         report.queue_length > profile_.steady_queue_length * band.queue_ratio + band.queue_slack;
}
std::size_t ProducerPolicy::headroom_bytes() const {
  return static_cast<std::size_t>(options_.headroom * static_cast<double>(profile_.kv_bytes_total));
}
Decision ProducerPolicy::reclaim(std::size_t bytes, TimePoint now) {
  calm_since_.reset();
  if (bytes == 0) return Decision{};
  lent_ -= bytes;
  last_reclaim_ = now;
  return Decision{ProducerAction::reclaim, bytes};
}
Decision ProducerPolicy::offer(const LoadReport& report, TimePoint now) {
  if (!is_producer() || now - *calm_since_ < options_.settle_time) return Decision{};
  if (last_reclaim_ && now - *last_reclaim_ < options_.min_time_between_flips) return Decision{};
  const std::size_t total = profile_.kv_bytes_total;
  const std::size_t kept = std::min(total, headroom_bytes());
  const std::size_t wanted = std::min(report.kv_bytes_wanted, total - kept);
  const std::size_t target = std::min(profile_.steady_free_bytes, total - kept - wanted);
  if (target <= lent_ || target - lent_ < options_.min_offer_bytes) return Decision{};
  const std::size_t bytes = target - lent_;
  lent_ = target;
  return Decision{ProducerAction::offer, bytes};
}

}  // namespace aqua
