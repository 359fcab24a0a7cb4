// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/serving.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/pipeline/server.hpp"

namespace aqua::sim {

Result<PipelineOutcome> serve(const PipelineShape& shape, const PassCost& cost,
                              const std::vector<TraceRequest>& requests) {
  AQUA_TRY(check(shape, cost, requests));
  Network network;
  PipelineServer server(shape, cost, network, requests);
  if (!run_world(network, {&server, &server.stages()})) {
    return Error{Code::resource_exhausted,
                 concat("pipelines: host_bytes of ", shape.host_bytes,
                        " never hold the prompts of a microbatch of ", shape.prompt.microbatch,
                        ": a smaller one, or more memory")};
  }
  PipelineOutcome outcome = std::move(server).outcome();
  for (std::size_t i = 0; shape.machine_bytes > 0 && i < outcome.machines.size(); ++i) {
    const MachineUse& machine = outcome.machines[i];
    if (machine.peak_bytes <= shape.machine_bytes) continue;
    return Error{Code::resource_exhausted,
                 concat("pipelines: stage ", machine.stage, " of pipeline ", machine.pipeline,
                        " needs ", machine.peak_bytes, " bytes and has ", shape.machine_bytes)};
  }
  return outcome;
}

}  // namespace aqua::sim
