// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/real/prediction.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/pipeline/serving.hpp"

namespace aqua::sim {
namespace {

Result<void> covers(const StepFit& fit, const PipelineRecording& fitted_to,
                    const PipelineRecording& recording) {
  const auto refuse = [](std::string what) {
    return Error{Code::failed_precondition, std::move(what)};
  };
  if (recording.layers != fitted_to.layers) {
    return refuse(concat("a model of ", recording.layers, " layers; costs were fitted to one of ",
                         fitted_to.layers));
  }
  const bool replicates = recording.recovery >= Recovery::restore;
  if (replicates != (fitted_to.recovery >= Recovery::restore)) {
    return refuse(concat(replicates ? "its KV is replicated" : "its KV is not replicated",
                         ", and that of the recording that costs are fitted to is",
                         replicates ? " not" : ""));
  }
  if (!recording.outages.empty() && fit.outages == 0)
    return refuse("has outages, and the recording that costs are fitted to has none");
  return {};
}

// What all requests take one after another in one stage, each once more after each outage: in
// floating point, which no times overflow.
double seconds_at_most(const StepCosts& costs, const PipelineRecording& recording) {
  const StageLayers all{.first = 0, .count = recording.layers, .of = recording.layers};
  const double ways = recording.stages * (costs.per_step + costs.hop) + costs.turn;
  double sum = 0;
  for (const TraceRequest& request : recording.requests) {
    const double tokens = static_cast<double>(request.prompt_tokens) + request.output_tokens;
    sum += costs.step(all, tokens, tokens * tokens) +
           request.output_tokens * (costs.step(all, 1, tokens) + ways);
  }
  const auto outages = static_cast<double>(recording.outages.size());
  return sum * (1 + outages) + costs.outage * outages;
}

}  // namespace

Result<PipelinePrediction> predict(const StepFit& fit, const PipelineRecording& fitted_to,
                                   const PipelineRecording& recording) {
  AQUA_TRY(covers(fit, fitted_to, recording));
  if (const double most = seconds_at_most(fit.costs, recording); !(most <= kMostSeconds)) {
    return Error{Code::invalid_argument,
                 concat("the run may take ", most, " s: at most ", kMostSeconds)};
  }
  StepCosts costs = fit.costs;
  const std::uint32_t depth = recording.stages;
  // The simulator has one latency for all ways, and none where there is one stage.
  const double ways = (depth - 1) * costs.hop + costs.turn;
  if (depth == 1) costs.per_step += ways;
  PipelineShape shape{
      .token = {.pipelines = 1, .depth = depth, .microbatch = 1},
      .layers = recording.layers,
      .links = MachineLinks{.bytes_per_second = 1e15, .latency = picos(ways / depth)},
      .recovery = recording.recovery,
      .recovery_times = {.restart = picos(costs.outage)}};
  // One that stands by takes none of the time that the simulator knows; the real one takes some.
  if (shape.recovery == Recovery::restore_standby) shape.recovery = Recovery::restore;
  for (const RecordedOutage& outage : recording.outages)
    shape.outages.push_back({.at = picos(outage.noticed), .stage = outage.stage});
  const FittedCost cost(costs, recording.layers);
  AQUA_ASSIGN(const PipelineOutcome outcome, serve(shape, cost, recording.requests));
  PipelinePrediction all{.measured_s = recording.makespan_s,
                         .predicted_s = seconds(outcome.makespan),
                         .measured_busy_s = std::vector<double>(depth)};
  for (const RecordedStep& step : recording.steps)
    all.measured_busy_s[step.stage] += step.seconds();
  const double on_the_way = depth == 1 ? ways * static_cast<double>(outcome.passes) : 0;
  for (const MachineUse& machine : outcome.machines)
    all.predicted_busy_s.push_back(seconds(machine.busy) - on_the_way);
  return all;
}

}  // namespace aqua::sim
