// SPDX-License-Identifier: Apache-2.0
// Verdict decides whether a load meets the SLA, as early as that is clear.
//
//   missed  once so many values are over a limit that the rest of the plan cannot mend it;
//   met     when all of the plan is known; or, unless the whole load is wanted (for its memory),
//           when half of it is and both quantiles lie under half their limits, those that still
//           wait counted: a queue that grows steadily would only reach the limit at the end.
//
// Threads: not thread-safe. Pure: no clock; seconds of the engine's clock come as arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/profiler/load/sla.hpp"

namespace aqua::profiler {

enum class Standing : std::uint8_t { open, met, missed };

struct Quantiles {
  double ttft_p50_s = 0, ttft_s = 0;  // the latter of the SLA's quantile
  double tbt_p50_s = 0, tbt_s = 0;
};

// Requests that still wait for their first token.
struct Waiting {
  std::size_t overdue = 0;  // longer than the limit
  std::size_t half = 0;     // longer than half of it, these too
};

class Verdict {
 public:
  // `requests` will be sent, with `gaps` between the tokens of all their answers.
  Verdict(const Sla& sla, std::size_t requests, std::size_t gaps, bool whole);

  void first_token(double ttft_s);
  void gap(double seconds);
  // Counts a request that was refused, or whose answer broke off, as one that never got its first
  // token. `ttft_s` is that of a first token that was reported before the answer broke off.
  void failed(std::optional<double> ttft_s = std::nullopt);

  [[nodiscard]] Standing standing(const Waiting& waiting) const;
  // Judges by what has come, once nothing more will; missed when nothing came.
  [[nodiscard]] Standing final() const;

  [[nodiscard]] std::size_t answered() const noexcept { return ttft_.size(); }
  [[nodiscard]] std::size_t failures() const noexcept { return failures_; }
  // Reorders the samples, of which there may be millions, instead of copying them.
  [[nodiscard]] Quantiles quantiles();

 private:
  [[nodiscard]] bool easily(const Waiting& waiting) const;
  // Requests that got a first token or failed, each counted once.
  [[nodiscard]] std::size_t known() const noexcept { return ttft_.size() + failures_ - broken_; }

  Sla sla_;
  std::size_t requests_;
  std::size_t gaps_;
  bool whole_;
  std::vector<double> ttft_;
  std::vector<double> tbt_;
  std::size_t late_ = 0;  // over the limit, failures too
  std::size_t slow_ = 0;
  std::size_t failures_ = 0;
  std::size_t broken_ = 0;  // of these, after their first token
  // At or over half of the limit.
  std::size_t half_late_ = 0;
  std::size_t half_slow_ = 0;
};

}  // namespace aqua::profiler
