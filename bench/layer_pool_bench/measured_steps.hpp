// SPDX-License-Identifier: Apache-2.0
// What an adaptive pool says of its steps, one after another, and what is concluded from it.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "layer_pool_bench/serving.hpp"

namespace aqua::bench {

inline constexpr double kStall = 0.04;  // of a step, from which the pool counts it as stalled

struct MeasuredStep {
  unsigned number = 0;       // steps posted when the measure was there, from the first watched one
  double stall_share = 0;    // of the step
  double fetch_seconds = 0;  // that the link was busy for it
};

// Runs so many steps, the first of which is step `first`. Those behind a change of frames are not
// measured.
[[nodiscard]] std::vector<MeasuredStep> watch_steps(Serving& serving, unsigned steps,
                                                    unsigned first = 1);

[[nodiscard]] std::vector<double> stall_shares(const std::vector<MeasuredStep>& steps);

// The step after which stalls are gone: the first of eight measured steps, behind stalled ones,
// whose median is no stall. Null where no step stalled, or where they are not gone.
[[nodiscard]] nlohmann::json gone_after(const std::vector<MeasuredStep>& steps);

// The median time that the link was busy for one of the first `count` steps of `loaded`, over that
// of the steps before. Null where none was measured.
[[nodiscard]] nlohmann::json fetch_slowdown(const std::vector<MeasuredStep>& before,
                                            const std::vector<MeasuredStep>& loaded,
                                            std::size_t count);

}  // namespace aqua::bench
