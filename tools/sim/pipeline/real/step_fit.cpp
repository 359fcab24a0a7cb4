// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/real/step_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/concat.hpp"
#include "tools/sim/cost/least_squares.hpp"

namespace aqua::sim {
namespace {

constexpr std::size_t kUnknowns = 5;
constexpr std::size_t kLeastSteps = 100;

// Times in microseconds, pairs in thousands: near each other in size, for the solver.
constexpr double kMicro = 1e6, kKilo = 1e3;

// Stages of equally many layers do not tell what is for a step and what for a layer: all of it is
// taken for the layers' then.
std::vector<double> row_of(const RecordedStep& step, const StageLayers& stage, bool alike) {
  const double tokens = step.tokens, layers = stage.count;
  return {alike ? 0.0 : 1.0, alike ? 0.0 : tokens, layers, layers * tokens,
          layers * step.pairs() / kKilo};
}

// Fits costs to every `stride`-th step from `from` on, weighted by what `before` says that it
// takes: noise is as large as the step is. By what was measured the quick ones would count for
// more.
StepCosts fit(const PipelineRecording& recording, std::size_t stride,
              const std::optional<StepCosts>& before = {}) {
  constexpr double kShortest = 1e-6;
  const auto stages = stages_of(recording.layers, recording.stages);
  const bool alike = recording.layers % recording.stages == 0;
  LeastSquares equations(kUnknowns);
  for (std::size_t i = 0; i < recording.steps.size(); i += stride) {
    const RecordedStep& step = recording.steps[i];
    const StageLayers& stage = stages[step.stage];
    const double said =
        before ? std::max(before->step(stage, step.tokens, step.pairs()), kShortest) : 1;
    equations.add(row_of(step, stage, alike), step.seconds() * kMicro, 1 / (said * said));
  }
  const std::vector<double> x = equations.solve();
  return {.per_step = x[0] / kMicro,
          .per_token = x[1] / kMicro,
          .per_layer = x[2] / kMicro,
          .per_layer_token = x[3] / kMicro,
          .per_layer_pair = x[4] / kMicro / kKilo};
}

StepCosts fit_twice(const PipelineRecording& recording, std::size_t stride) {
  return fit(recording, stride, fit(recording, stride));
}

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] double value() const { return count_ > 0 ? sum_ / count_ : 0; }

 private:
  double sum_ = 0, count_ = 0;
};

// From the end of a step in one stage to its beginning in the next, and from the end of it all to
// the sequence's next step, where the stage had been idle.
void measure_ways(const PipelineRecording& recording, StepCosts& costs) {
  std::vector<const RecordedStep*> by_time;
  for (const RecordedStep& step : recording.steps) by_time.push_back(&step);
  std::ranges::stable_sort(
      by_time, {}, [](const RecordedStep* step) { return std::pair(step->begin, step->stage); });
  std::vector<double> idle_since(recording.stages);
  // By sequence, stage and the position behind it: when the latest such step ended.
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, double> ended;
  Mean hops, turns;
  const auto stood_still = [&](double from, double to) {
    return std::ranges::any_of(recording.outages, [&](const RecordedOutage& outage) {
      return outage.noticed <= to && outage.resumed >= from;
    });
  };
  for (const RecordedStep* step : by_time) {
    const bool first = step->stage == 0;
    const std::uint32_t behind = step->first + step->tokens;
    const auto before =
        ended.find(first ? std::tuple(step->sequence, recording.stages - 1, step->first)
                         : std::tuple(step->sequence, step->stage - 1, behind));
    if (before != ended.end() && before->second >= idle_since[step->stage] &&
        before->second <= step->begin && !stood_still(before->second, step->begin))
      (first ? turns : hops).add(step->begin - before->second);
    idle_since[step->stage] = step->end;
    ended[{step->sequence, step->stage, behind}] = step->end;
  }
  costs.hop = hops.value();
  costs.turn = turns.value();
}

}  // namespace

double StepCosts::step(const StageLayers& stage, double tokens, double pairs) const noexcept {
  return per_step + tokens * per_token +
         stage.count * (per_layer + tokens * per_layer_token + pairs * per_layer_pair);
}

Result<StepFit> fit_steps(const PipelineRecording& recording) {
  std::vector<std::size_t> steps(recording.stages);
  for (const RecordedStep& step : recording.steps) ++steps[step.stage];
  const std::size_t fewest = std::ranges::min(steps);
  if (recording.steps.size() < kLeastSteps || fewest < 2) {
    return Error{Code::failed_precondition,
                 concat("recording: ", recording.steps.size(), " steps, of one stage ", fewest,
                        ": at least ", kLeastSteps, ", of each stage 2")};
  }
  StepFit all{.costs = fit_twice(recording, 1), .outages = recording.outages.size()};
  measure_ways(recording, all.costs);
  for (const RecordedOutage& outage : recording.outages) {
    all.costs.outage += (outage.resumed - outage.noticed) / static_cast<double>(all.outages);
  }
  const StepCosts half = fit_twice(recording, 2);
  const auto stages = stages_of(recording.layers, recording.stages);
  double was = 0, said = 0;
  for (std::size_t i = 1; i < recording.steps.size(); i += 2) {
    const RecordedStep& step = recording.steps[i];
    const double predicted = half.step(stages[step.stage], step.tokens, step.pairs());
    was += step.seconds();
    said += predicted;
    if (step.seconds() > 0) all.mean_error += std::abs(predicted / step.seconds() - 1);
    ++all.checked;
  }
  all.fitted = recording.steps.size() - all.checked;
  all.mean_error /= static_cast<double>(all.checked);
  all.sum_error = was > 0 ? said / was - 1 : 0;
  return all;
}

Picos FittedCost::stage_time(const Pass& pass, const StageLayers& stage) const {
  const auto tokens = static_cast<double>(pass.prompt_tokens + pass.decodes);
  return picos(costs_.step(stage, tokens, static_cast<double>(pass.kv_tokens))) +
         static_cast<Picos>(static_cast<double>(pass.prompt_attention) * stage.count / stage.of);
}

Picos FittedCost::prompt_attention(std::uint32_t tokens, std::uint64_t past) const {
  const double count = tokens;
  const double pairs = count * static_cast<double>(past) + count * (count + 1) / 2;
  return picos(pairs * costs_.per_layer_pair * layers_);
}

}  // namespace aqua::sim
