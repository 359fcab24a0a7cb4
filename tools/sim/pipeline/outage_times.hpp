// SPDX-License-Identifier: Apache-2.0
// When which stage fails: at the times that a shape names, and by a rate. Machines fail
// independently of each other, with exponential times between the failures of each; machine k of
// any shape fails at the same times, so that different splits meet the same failures.
//
// Threads: a plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/sim/engine/random.hpp"
#include "tools/sim/engine/time.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

class OutageTimes {
 public:
  explicit OutageTimes(const PipelineShape& shape);

  // The time of the next outage; kNever: there is none before kMostSeconds.
  [[nodiscard]] Picos next() const noexcept;
  // The one at next(), which there must be. Of those at one instant the named ones come first.
  Outage take();

 private:
  struct Machine {
    Random random;
    double seconds = 0;  // of its next failure
    std::uint32_t pipeline = 0, stage = 0;
  };

  void advance(Machine& machine) const;
  void find_next();

  std::vector<Outage> named_;
  std::size_t taken_ = 0;  // of the named ones
  double mean_seconds_ = 0;
  std::vector<Machine> machines_{};  // none without a rate
  Outage random_{.at = kNever};      // the next by the rate
  std::size_t of_ = 0;               // the machine that it is of
};

}  // namespace aqua::sim
