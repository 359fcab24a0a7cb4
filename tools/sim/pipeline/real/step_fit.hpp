// SPDX-License-Identifier: Apache-2.0
// Costs of a real pipeline's steps, fitted to a recording of it by least squares of the relative
// error, without a bias towards quick steps:
//
//   seconds of a stage's step = per_step + tokens * per_token
//       + layers * (per_layer + tokens * per_layer_token + pairs * per_layer_pair)
//
// What the last stage has to do besides is in per_step: in a pipeline whose last stage has the
// fewest layers nothing tells the two apart. Where all stages have equally many, all of it counts
// by layers.
//
// What lies between steps is measured: the mean of the times in which a stage had nothing else to
// do and no other one was away.
//
// Threads: plain values and functions; costs are immutable once made.
#pragma once

#include <cstddef>

#include "aqua/result.hpp"
#include "tools/sim/pipeline/pass.hpp"
#include "tools/sim/pipeline/real/recording.hpp"

namespace aqua::sim {

struct StepCosts {  // seconds
  double per_step = 0, per_token = 0;
  double per_layer = 0, per_layer_token = 0, per_layer_pair = 0;
  double hop = 0;     // from a stage to the next
  double turn = 0;    // from the last stage to the first, with the next token
  double outage = 0;  // until a pipeline goes on; of a recording without one 0

  [[nodiscard]] double step(const StageLayers& stage, double tokens, double pairs) const noexcept;
};

struct StepFit {
  StepCosts costs;  // fitted to all steps
  // A fit to every second step alone, held against the others.
  std::size_t fitted = 0, checked = 0;
  double mean_error = 0;  // relative, of single steps
  double sum_error = 0;   // of the sum of their times, with its sign
  std::size_t outages = 0;
};

// failed_precondition with fewer than 100 steps, or than 2 of a stage.
[[nodiscard]] Result<StepFit> fit_steps(const PipelineRecording& recording);

// As passes cost it that are of one request each, of a model of so many layers.
class FittedCost final : public PassCost {
 public:
  FittedCost(const StepCosts& costs, std::uint32_t layers) : costs_(costs), layers_(layers) {}
  [[nodiscard]] Picos stage_time(const Pass& pass, const StageLayers& stage) const override;
  [[nodiscard]] Picos prompt_attention(std::uint32_t tokens, std::uint64_t past) const override;

 private:
  const StepCosts costs_;
  const std::uint32_t layers_;
};

}  // namespace aqua::sim
