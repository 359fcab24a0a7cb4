// SPDX-License-Identifier: Apache-2.0
// ProducerPolicy decides when an engine lends its spare memory and when it wants it back
// (Aqua, section 6): offer while the load is what the profiler found steady, reclaim when it
// rises, offer again when it has settled.
//
// So that memory does not go to and fro: the load that takes memory back lies well above the
// one that gives it; giving needs a time of uninterrupted calm, and a longer time since memory
// was last taken back. Taking back never waits.
//
// Threads: not thread-safe. Pure: no I/O and no clock, `now` is an argument; the same reports
//          give the same decisions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "aqua/export.h"
#include "aqua/northbound/load.hpp"
#include "aqua/result.hpp"

namespace aqua {

// A load is above the band when its rate exceeds steady * rate_ratio + rate_slack, or its
// queue steady * queue_ratio + queue_slack. The slack speaks where the steady value is 0.
struct LoadBand {
  double rate_ratio = 1;
  double rate_slack = 0;  // requests per second
  double queue_ratio = 1;
  double queue_slack = 0;  // requests
};

struct ProducerOptions {
  // Above it: reclaim. The paper's experiment doubles the traffic, so half as much again is
  // noticed in time; and at five requests a second over ten seconds, 1.5 is 3.5 standard
  // deviations of chance away. A batch that starts together may queue eight requests.
  LoadBand rise{1.5, 0.5, 2.0, 8.0};
  // Not above it, for settle_time: offer. Below `rise` in every number, which is the hysteresis.
  LoadBand settle{1.2, 0.25, 1.25, 2.0};
  // Longer than the mean over which rates are reported, so that no old surge hides in it.
  std::chrono::milliseconds settle_time{15'000};
  // From a reclaim to the next offer, at least. A flip moves gigabytes twice; twice a minute is
  // noise on the link, more would be the consumer's work undone as soon as it is done.
  std::chrono::milliseconds min_time_between_flips{30'000};
  // Part of kv_bytes_total that is kept free, on top of what is wanted, when offering. Reclaiming
  // for want of memory starts only when all of it is gone.
  double headroom = 0.1;
  // Smaller offers are not worth their messages: four slabs of 64 MiB.
  std::size_t min_offer_bytes = std::size_t{256} << 20;
};

enum class ProducerAction : std::uint8_t { keep, offer, reclaim };

struct Decision {
  ProducerAction action = ProducerAction::keep;
  std::size_t bytes = 0;  // to offer or to reclaim; 0 with keep
  friend bool operator==(const Decision&, const Decision&) = default;
};

class AQUA_API ProducerPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // invalid_argument when the profile or the options cannot be: settle not below rise, negative
  // or non-finite numbers, more free bytes than there are.
  [[nodiscard]] static Result<ProducerPolicy> create(const LoadProfile& profile,
                                                     const ProducerOptions& options = {});

  // What to do now. The caller does it, or reports what it did instead with set_lent_bytes().
  // invalid_argument, and nothing changed, when the report cannot be true or `now` lies before
  // an earlier one.
  [[nodiscard]] Result<Decision> observe(const LoadReport& report, TimePoint now);

  // Corrects the account when less was lent than decided (a reclaim that ended partially, an
  // offer that nobody could take).
  void set_lent_bytes(std::size_t bytes) noexcept { lent_ = bytes; }
  [[nodiscard]] std::size_t lent_bytes() const noexcept { return lent_; }
  // True when the profile leaves enough memory to lend at all; otherwise every decision is keep.
  [[nodiscard]] bool is_producer() const noexcept;

 private:
  ProducerPolicy(const LoadProfile& profile, const ProducerOptions& options)
      : profile_(profile), options_(options) {}

  [[nodiscard]] bool above(const LoadBand& band, const LoadReport& report) const;
  [[nodiscard]] std::size_t headroom_bytes() const;
  [[nodiscard]] Decision reclaim(std::size_t bytes, TimePoint now);
  [[nodiscard]] Decision offer(const LoadReport& report, TimePoint now);

  LoadProfile profile_;
  ProducerOptions options_;
  std::size_t lent_ = 0;
  std::optional<TimePoint> last_report_;
  std::optional<TimePoint> calm_since_;  // not above `settle` since then
  std::optional<TimePoint> last_reclaim_;
};

}  // namespace aqua
