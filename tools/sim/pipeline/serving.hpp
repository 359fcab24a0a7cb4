// SPDX-License-Identifier: Apache-2.0
// Serves the requests of a workload by pipelines: forms microbatches, lets them pass through the
// stages again and again, and replaces those that end.
//
//   colocated: a pipeline of depth d has up to d microbatches under way. One that has ended is
//              replaced by the next prompts.
//   apart:     prompt pipelines compute one microbatch after another as long as a token pipeline's
//              host memory has room for its KV; token pipelines take what has arrived there.
//
// A token pipeline waits until it can fill a microbatch, unless nothing more is on its way, or,
// where requests come over time, it has nothing to do. Pipelines take from one queue, whoever is
// free.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/input/workload.hpp"
#include "tools/sim/pipeline/outcome.hpp"
#include "tools/sim/pipeline/pass.hpp"
#include "tools/sim/pipeline/shape.hpp"

namespace aqua::sim {

// What a run is worth being played to its end for: beyond it the run is cut off.
struct RunLimit {
  Picos makespan = kNever;
  double median_latency = std::numeric_limits<double>::infinity();  // seconds a token
};

// invalid_argument: a shape that cannot be, or no request. resource_exhausted: a machine ran out of
// memory, no host could ever hold a microbatch's prompts, or machines fail so often by chance that
// the run was given up. Requests are by arrival.
[[nodiscard]] Result<PipelineOutcome> serve(const PipelineShape& shape, const PassCost& cost,
                                            const std::vector<TraceRequest>& requests,
                                            const RunLimit& limit = {});

}  // namespace aqua::sim
