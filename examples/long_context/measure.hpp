// SPDX-License-Identifier: Apache-2.0
// Measures generation against its parts: in each round all three ways, one after the other, so that
// what else the machine does touches all of them.
#pragma once

#include <vector>

#include "engine.hpp"
#include "workplace.hpp"

namespace aqua::long_context {

// Seconds a step, a sample for each round.
struct StepTimes {
  std::vector<double> overlapped{}, transfer{}, compute{};
};

// What a round took, divided by its longer part, which no overlap can beat.
[[nodiscard]] constexpr double total_over_longer(double total, double transfer, double compute) {
  return total / (transfer > compute ? transfer : compute);
}
// How much of the shorter part was hidden behind the longer: 1 is all, 0 nothing; below 0 they were
// in each other's way.
[[nodiscard]] constexpr double hidden_share(double total, double transfer, double compute) {
  return (transfer + compute - total) / (transfer < compute ? transfer : compute);
}
static_assert(total_over_longer(5, 4, 2) == 1.25);
static_assert(hidden_share(4, 4, 2) == 1 && hidden_share(6, 4, 2) == 0 &&
              hidden_share(5, 2, 4) == 0.5);

// Measures steps of `engine`. Its kernels alone are measured where nothing is away: with
// `resident`. Both generate as many tokens. A step that is not counted goes before each
// measurement, so that as much is coming in at its begin as at its end, and a whole round before
// all. Throws Interrupted after a stop signal.
[[nodiscard]] StepTimes measure(Engine& engine, Engine& resident, unsigned steps, unsigned rounds,
                                const example::StopSignals& stop);

}  // namespace aqua::long_context
