// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording of an engine, and of a pipeline: never a crash, and costs fitted to what
// is accepted are times.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tools/sim/cost/cost_fit.hpp"
#include "tools/sim/pipeline/real/prediction.hpp"

namespace {

using namespace aqua::sim;

void require(bool good) {
  if (!good) std::abort();
}

void require_time(double seconds) {
  require(std::isfinite(seconds) && seconds >= 0);
}

void check_requests(const Recording& recording) {
  Picos last = 0;
  require(!recording.requests.empty());
  for (const RequestOutcome& request : recording.requests) {
    require(request.arrival >= last);
    require(request.first_token >= request.arrival && request.finish >= request.first_token);
    require(request.prompt_tokens >= 1 && request.output_tokens >= 1);
    last = request.arrival;
  }
  require(recording.workload().requests.size() == recording.requests.size());
  require(recording.outcome().makespan >= 0);
}

void check_fit(Recording recording) {
  // Few unknowns: an ill-posed fit of twenty takes seconds.
  if (recording.scheduler.budget_tokens > 8) return;
  // What there is, over again: a fit wants a hundred iterations.
  const std::size_t there = recording.iterations.size();
  for (std::size_t i = 0; there > 0 && recording.iterations.size() < 100; ++i) {
    recording.iterations.push_back(recording.iterations[i]);
  }
  const auto report = fit_costs(recording);
  if (!report.ok()) return;
  for (const double seconds : report->fit.seconds) require_time(seconds);
  require_time(report->fit.per_row_s);
  require_time(report->fit.per_kv_token_s);
  require_time(report->fit.per_pair_s);
  require_time(report->fit.per_any_pair_s);
  for (const CopyCost& cost : {report->fit.out, report->fit.in}) {
    require_time(cost.latency_s);
    require_time(cost.per_byte_s);
  }
}

void check_pipeline(PipelineRecording recording) {
  require(recording.stages <= recording.layers && recording.requests.size() >= 2);
  const std::size_t there = recording.steps.size();
  for (std::size_t i = 0; there > 0 && recording.steps.size() < 100; ++i)
    recording.steps.push_back(recording.steps[i]);
  const auto fit = fit_steps(recording);
  if (!fit.ok()) return;
  const StepCosts& costs = fit->costs;
  for (const double seconds :
       {costs.per_step, costs.per_token, costs.per_layer, costs.per_layer_token,
        costs.per_layer_pair, costs.hop, costs.turn, costs.outage})
    require_time(seconds);
  std::uint64_t tokens = 0;
  for (const TraceRequest& request : recording.requests) tokens += request.output_tokens;
  if (tokens * recording.stages > 20'000 || recording.outages.size() > 8) return;
  const auto made = predict(*fit, recording, recording);
  if (!made.ok()) return;
  require_time(made->predicted_s);
  require(made->predicted_busy_s.size() == recording.stages);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto pipeline = parse_pipeline_recording(text); pipeline.ok()) {
    check_pipeline(std::move(pipeline).value());
  } else {
    require(pipeline.error().code == aqua::Code::invalid_argument);
  }
  const auto parsed = parse_recording(text);
  if (!parsed.ok()) {
    require(parsed.error().code == aqua::Code::invalid_argument);
    return 0;
  }
  check_requests(*parsed);
  check_fit(*parsed);
  return 0;
}
