// SPDX-License-Identifier: Apache-2.0
// What the simulator, with costs fitted to one recording, says of the requests of another one, and
// what that one measured.
#pragma once

#include "aqua/result.hpp"
#include "tools/sim/cost/cost_fit.hpp"
#include "tools/sim/input/recording.hpp"
#include "tools/sim/report/metrics.hpp"

namespace aqua::sim {

struct Prediction {
  Metrics measured{}, predicted{};
  // The same of an engine that is slower, and faster, by kNudge throughout: near the load that an
  // engine sustains a wait changes by many times what its cause does.
  Metrics slower{}, faster{};
};
inline constexpr double kNudge = 0.02;

// By how many percent `figure` changes when the engine takes 1 % longer. 0 where it is 0.
[[nodiscard]] double sensitivity(const Prediction& prediction, double Metrics::*figure);

// The same requests at the same times, scheduled by the same policy with the same options; an
// engine that stops while it copies. invalid_argument for a policy or options that cannot be.
[[nodiscard]] Result<Prediction> predict(const CostFit& costs, const Recording& recording);

}  // namespace aqua::sim
