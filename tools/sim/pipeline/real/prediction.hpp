// SPDX-License-Identifier: Apache-2.0
// What the simulator of pipelines, with costs fitted to one recording, says of another one.
//
// Threads: functions of their arguments.
#pragma once

#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/pipeline/real/step_fit.hpp"

namespace aqua::sim {

struct PipelinePrediction {
  double measured_s = 0, predicted_s = 0;  // makespan
  // Computing, of each stage.
  std::vector<double> measured_busy_s{}, predicted_busy_s{};
};

// The same requests, all at once, on as many stages, one microbatch of one request for each. Stages
// are killed when they were; how long that lasts, and how requests go on, is as the costs and the
// recording say. failed_precondition: it has an outage, and the costs are fitted to none; its
// model has other layers; or one replicates its KV, and the other does not. invalid_argument: times
// that no run may take.
[[nodiscard]] Result<PipelinePrediction> predict(const StepFit& fit,
                                                 const PipelineRecording& fitted_to,
                                                 const PipelineRecording& recording);

}  // namespace aqua::sim
