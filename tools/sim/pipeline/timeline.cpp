// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/timeline.hpp"

#include <nlohmann/json.hpp>

#include "base/concat.hpp"

namespace aqua::sim {
namespace {

using nlohmann::json;

constexpr double kPicosPerMicrosecond = 1e6;

std::string metadata(const char* what, std::uint32_t process, std::uint32_t thread,
                     const std::string& name) {
  return json{
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}}
      .dump();
}

}  // namespace

std::string chrome_events(const PipelineOutcome& outcome, const std::string& name,
                          std::uint32_t first) {
  std::string all;
  const auto add = [&all](const std::string& event) {
    all += concat(all.empty() ? "" : ",\n", event);
  };
  for (const MachineUse& machine : outcome.machines) {
    const std::uint32_t process = first + machine.pipeline;
    if (machine.stage == 0) {
      add(metadata(
          "process_name", process, 0,
          concat(name, ", pipeline ", machine.pipeline, machine.prompts ? " for prompts" : "")));
    }
    add(metadata("thread_name", process, machine.stage, concat("stage ", machine.stage)));
  }
  for (const StageSpan& span : outcome.spans) {
    const char* kind = span.prompts == 0 ? "tokens" : span.decodes == 0 ? "prompts" : "both";
    add(json{{"ph", "X"},
             {"name", concat(kind, " ", span.microbatch)},
             {"cat", kind},
             {"pid", first + span.pipeline},
             {"tid", span.stage},
             {"ts", static_cast<double>(span.begin) / kPicosPerMicrosecond},
             {"dur", static_cast<double>(span.end - span.begin) / kPicosPerMicrosecond},
             {"args", {{"prompts", span.prompts}, {"decodes", span.decodes}}}}
            .dump());
  }
  return all;
}

std::string chrome_trace(const std::vector<std::string>& events) {
  std::string all = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  bool first = true;
  for (const std::string& some : events) {
    if (some.empty()) continue;
    all += concat(first ? "" : ",\n", some);
    first = false;
  }
  return all + "\n]}\n";
}

}  // namespace aqua::sim
