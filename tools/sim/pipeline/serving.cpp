// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/serving.hpp"

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/engine/world.hpp"
#include "tools/sim/pipeline/server.hpp"

namespace aqua::sim {

Result<PipelineOutcome> serve(const PipelineShape& shape, const PassCost& cost,
                              const std::vector<TraceRequest>& requests, const RunLimit& limit) {
  AQUA_TRY(check(shape, cost, requests));
  Network network;
  PipelineServer server(shape, cost, network, requests, limit);
  if (!run_world(network, {&server, &server.stages()})) {
    return Error{Code::resource_exhausted,
                 concat("pipelines: host_bytes of ", shape.host_bytes,
                        " never hold the prompts of a microbatch of ", shape.prompt.microbatch,
                        ": a smaller one, or more memory")};
  }
  if (!server.given_up().empty())
    return Error{Code::resource_exhausted, concat("pipelines: ", server.given_up())};
  PipelineOutcome outcome = std::move(server).outcome();
  if (outcome.cut_off) return outcome;
  for (const MachineUse& machine : outcome.machines) {
    const auto lacks = [&](std::uint64_t needs, std::uint64_t has, const char* memory) {
      return Error{Code::resource_exhausted,
                   concat("pipelines: stage ", machine.stage, " of pipeline ", machine.pipeline,
                          " needs ", needs, " bytes", memory, " and has ", has)};
    };
    if (shape.machine_bytes > 0 && machine.peak_bytes > shape.machine_bytes)
      return lacks(machine.peak_bytes, shape.machine_bytes, "");
    if (shape.host_bytes > 0 && machine.peak_host_bytes > shape.host_bytes)
      return lacks(machine.peak_host_bytes, shape.host_bytes, " of host memory");
  }
  return outcome;
}

}  // namespace aqua::sim
