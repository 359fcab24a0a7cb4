// SPDX-License-Identifier: Apache-2.0
// What an adaptive pool says of its steps, one after another, and what is concluded from it. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "systems/layer_swap/decide/expansion.hpp"

namespace aqua::bench {

// The pool counts a step as stalled when stalls take more than this share of it.
inline const double kStall = layer_swap::ExpansionOptions{}.stalled_share();

struct MeasuredStep {
  unsigned number = 0;       // steps posted when the measure was there, from the first watched one
  double stall_share = 0;    // of the step
  double fetch_seconds = 0;  // that the link was busy for it
};

[[nodiscard]] std::vector<double> stall_shares(const std::vector<MeasuredStep>& steps);

// The step from which on stalls are gone. Eight measured steps in a row stall where their median
// does. The first eight behind the last that do so may still begin with stalled steps, and it is
// the one after these. Null where no eight stalled, or the last eight do.
[[nodiscard]] nlohmann::json gone_after(const std::vector<MeasuredStep>& steps);

// How many steps stalled of the first `count` that were posted under a load.
[[nodiscard]] std::size_t stalled_steps(const std::vector<MeasuredStep>& loaded, unsigned count);

// The median time that the link was busy for one of the first `count` steps of `loaded`, over that
// of the steps before. Null where none was measured.
[[nodiscard]] nlohmann::json fetch_slowdown(const std::vector<MeasuredStep>& before,
                                            const std::vector<MeasuredStep>& loaded,
                                            std::size_t count);

}  // namespace aqua::bench
