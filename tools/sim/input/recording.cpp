// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/recording.hpp"

#include <algorithm>
#include <array>

#include "base/json_object.hpp"
#include "base/read_file.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/json_rows.hpp"

namespace aqua::sim {
namespace {

using nlohmann::json;

constexpr double most_of_a_request = 1e6;  // seconds, and tokens
constexpr double most_of_a_run = 1e6;      // seconds
constexpr double kMost = 1e12;

schedule::SchedulerOptions scheduler_of(JsonObject& all) {
  schedule::SchedulerOptions options{.swap_tier = Tier::host};
  options.fcfs_on_slow_tier = false;
  const json* found = all.take("scheduler");
  if (found == nullptr) return options;
  JsonObject object(*found, "recording: scheduler");
  options.budget_tokens = object.count("budget_tokens", 2, 65'536);
  options.slice_iterations = object.count("slice_iterations", 1, 1'000'000);
  options.min_prefill_tokens = object.count("min_prefill_tokens", 1, 65'536);
  options.seconds_per_token =
      object.number_or("seconds_per_token", options.seconds_per_token, 1e-6, 1e6);
  options.block_tokens = object.count("block_tokens", 1, 65'536);
  options.device_blocks = object.count("device_blocks", 1, 65'535);
  options.max_sequences = object.count("max_sequences", 0, 65'536);
  if (auto read = object.finish(); !read.ok()) all.fail(read.error().message);
  return options;
}

void read_requests(JsonObject& object, Recording& recording) {
  read_rows<5>(object, "requests", most_of_a_request, [&](const std::array<double, 5>& row) {
    RequestOutcome request{
        .arrival = picos(row[0]), .first_token = picos(row[3]), .finish = picos(row[4])};
    request.prompt_tokens = static_cast<std::uint32_t>(row[1]);
    request.output_tokens = static_cast<std::uint32_t>(row[2]);
    const bool ordered =
        recording.requests.empty() || recording.requests.back().arrival <= request.arrival;
    const bool whole = row[1] == request.prompt_tokens && row[2] == request.output_tokens;
    if (request.prompt_tokens == 0 || request.output_tokens == 0 || !whole || !ordered ||
        request.first_token < request.arrival || request.finish < request.first_token) {
      object.fail(concat("requests row ", recording.requests.size(),
                         " has no whole tokens, or is not in order of time"));
    }
    recording.requests.push_back(request);
  });
  if (recording.requests.empty()) object.fail("there are no requests");
}

}  // namespace

Result<Recording> parse_recording(std::string_view text) {
  const json value = parse_shallow(text);
  if (value.is_discarded()) return Error{Code::invalid_argument, "recording: not JSON"};
  JsonObject object(value, "recording");
  Recording recording;
  if (object.text("format") != "aqua-recording-1") object.fail("format is not aqua-recording-1");
  recording.engine = object.text("engine");
  recording.policy = object.text("policy");
  recording.scheduler = scheduler_of(object);
  recording.kv_bytes_per_token = object.number("kv_bytes_per_token", 1, 1e9);
  recording.kv_step_tokens = object.count("kv_step_tokens", 1, 65'536);
  read_requests(object, recording);
  double seconds = 0;
  read_rows<6>(object, "iterations", kMost, [&](const std::array<double, 6>& row) {
    seconds += row[0];
    recording.iterations.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  });
  read_rows<3>(object, "copies", kMost, [&](const std::array<double, 3>& row) {
    seconds += row[0];
    recording.copies.push_back({.seconds = row[0], .bytes = row[1], .out = row[2] > 0});
  });
  // Tells people how its scheduler shared; nothing is fitted to it.
  if (object.has("switches")) (void)object.take("switches");
  if (seconds > most_of_a_run) object.fail(concat("all in all it lasts ", seconds, " s"));
  AQUA_TRY(object.finish());
  return recording;
}

Result<Recording> load_recording(const std::string& path) {
  AQUA_ASSIGN(const std::string text, read_file(path));
  auto parsed = parse_recording(text);
  if (parsed.ok()) return parsed;
  return Error{parsed.error().code, concat(path, ": ", parsed.error().message)};
}

Workload Recording::workload() const {
  Workload work{.requests = {}};
  for (const RequestOutcome& request : requests) {
    work.requests.push_back({.arrival = request.arrival,
                             .prompt_tokens = request.prompt_tokens,
                             .output_tokens = request.output_tokens});
  }
  return work;
}

RunOutcome Recording::outcome() const {
  RunOutcome outcome{.requests = requests, .totals = {}, .memory = {}};
  for (const RequestOutcome& request : requests) {
    outcome.makespan = std::max(outcome.makespan, request.finish - requests.front().arrival);
  }
  return outcome;
}

}  // namespace aqua::sim
