// SPDX-License-Identifier: Apache-2.0
#include "play/record.hpp"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "must.hpp"

namespace aqua::pipeline {
namespace {

using nlohmann::json;

// As the simulator calls what is done here.
const char* recovery_of(const Options& options) {
  if (!options.replicate) return "reprefill";
  return options.standby ? "restore+standby" : "restore";
}

}  // namespace

void write_recording(const Options& options, const std::vector<Request>& requests,
                     const Served& served, const std::vector<LoggedStep>& steps) {
  const auto since = [&](StepClock::time_point at) {
    return std::chrono::duration<double>(at - served.began).count();
  };
  json made{{"format", "aqua-pipeline-recording-1"},
            {"engine", "examples/pipeline " + to_string(options.colocated)},
            {"layers", options.model.layers},
            {"stages", options.colocated.stages},
            {"recovery", recovery_of(options)},
            {"makespan_s", served.seconds},
            {"requests", json::array()},
            {"steps", json::array()},
            {"outages", json::array()}};
  for (const Request& request : requests)
    made["requests"].push_back({request.prompt.size(), request.answer_tokens});
  for (const LoggedStep& step : steps) {
    made["steps"].push_back(
        {step.sequence, step.stage, since(step.begin), since(step.end), step.first, step.count});
  }
  for (const Interruption& each : served.interruptions) {
    const auto begun = each.died ? each.died : each.noticed;
    made["outages"].push_back(
        {each.stage, since(begun.value_or(each.surveyed)), since(each.resumed)});
  }
  std::ofstream file(options.record);
  file << made.dump() << '\n';
  file.close();
  if (!file) throw example::Failure("--record " + options.record.native() + ": not written");
}

}  // namespace aqua::pipeline
