// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/real/recording.hpp"

#include <algorithm>
#include <array>

#include "base/json_object.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/sim/input/json_rows.hpp"

namespace aqua::sim {
namespace {

constexpr double kMostTokens = 1e6;  // of a request, and seconds of a run
constexpr double kMost = 1e9;

std::uint32_t whole(JsonObject& object, const char* of, double value) {
  const auto cut = static_cast<std::uint32_t>(value);
  if (cut != value) object.fail(concat(of, ": ", value, " is not whole"));
  return cut;
}

Recovery recovery_of(JsonObject& object) {
  constexpr std::array names{std::pair("scratch", Recovery::scratch),
                             std::pair("reprefill", Recovery::reprefill),
                             std::pair("restore", Recovery::restore),
                             std::pair("restore+standby", Recovery::restore_standby)};
  const std::string name = object.text("recovery");
  for (const auto& [known, recovery] : names) {
    if (name == known) return recovery;
  }
  object.fail(concat("recovery is \"", name, "\": scratch, reprefill, restore or restore+standby"));
  return Recovery::reprefill;
}

void read_requests(JsonObject& object, PipelineRecording& made) {
  read_rows<2>(object, "requests", kMostTokens, [&](const std::array<double, 2>& row) {
    made.requests.push_back({.prompt_tokens = whole(object, "requests", row[0]),
                             .output_tokens = whole(object, "requests", row[1])});
    if (row[0] < 1 || row[1] < 1)
      object.fail(concat("requests row ", made.requests.size() - 1, " has no tokens"));
  });
  if (made.requests.size() < 2) object.fail("fewer than 2 requests");
}

void read_steps(JsonObject& object, PipelineRecording& made) {
  std::vector<double> ended(made.stages);
  read_rows<6>(object, "steps", kMost, [&](const std::array<double, 6>& row) {
    const RecordedStep step{.sequence = whole(object, "steps", row[0]),
                            .stage = whole(object, "steps", row[1]),
                            .begin = row[2],
                            .end = row[3],
                            .first = whole(object, "steps", row[4]),
                            .tokens = whole(object, "steps", row[5])};
    const auto wrong = [&](std::string_view why) {
      object.fail(concat("steps row ", made.steps.size(), " ", why));
    };
    made.steps.push_back(step);
    if (step.stage >= made.stages) return wrong("is of a stage that is not there");
    if (step.tokens < 1 || row[4] + row[5] > kMostTokens)
      return wrong("has no tokens, or too many");
    if (step.end < step.begin || step.begin < ended[step.stage] || step.end > kMostTokens)
      return wrong("is not in order of time");
    ended[step.stage] = step.end;
  });
}

void read_outages(JsonObject& object, PipelineRecording& made) {
  double last = 0;
  read_rows<3>(object, "outages", kMostTokens, [&](const std::array<double, 3>& row) {
    made.outages.push_back({whole(object, "outages", row[0]), row[1], row[2]});
    if (row[0] >= made.stages || row[1] < last || row[2] < row[1]) {
      object.fail(concat("outages row ", made.outages.size() - 1,
                         " is of no stage, or not in order of time"));
    }
    last = row[2];
  });
}

}  // namespace

Result<PipelineRecording> parse_pipeline_recording(std::string_view text) {
  const nlohmann::json value = parse_shallow(text);
  if (value.is_discarded()) return Error{Code::invalid_argument, "recording: not JSON"};
  JsonObject object(value, "recording");
  PipelineRecording made;
  if (object.text("format") != kPipelineRecording)
    object.fail(concat("format is not ", kPipelineRecording));
  made.engine = object.text("engine");
  made.layers = object.count("layers", 1, 1024);
  made.stages = object.count("stages", 1, 1024);
  if (made.stages > made.layers) object.fail("more stages than layers");
  made.recovery = recovery_of(object);
  made.makespan_s = object.number("makespan_s", 1e-9, kMostTokens);
  read_requests(object, made);
  read_steps(object, made);
  read_outages(object, made);
  AQUA_TRY(object.finish());
  return made;
}

}  // namespace aqua::sim
