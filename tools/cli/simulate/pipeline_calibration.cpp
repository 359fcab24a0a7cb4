// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/pipeline_calibration.hpp"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/shallow_json.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/calibration_text.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/pipeline/real/prediction.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

Result<sim::PipelineRecording> load(std::string_view path) {
  AQUA_ASSIGN(const std::string text, read_file(std::string(path)));
  return of_file(path, sim::parse_pipeline_recording(text));
}

json fit_json(const sim::StepFit& fit) {
  const sim::StepCosts& costs = fit.costs;
  return {{"per_step_s", costs.per_step},
          {"per_token_s", costs.per_token},
          {"per_layer_s", costs.per_layer},
          {"per_layer_token_s", costs.per_layer_token},
          {"per_layer_pair_s", costs.per_layer_pair},
          {"hop_s", costs.hop},
          {"turn_s", costs.turn},
          {"outage_s", costs.outage},
          {"outages", fit.outages},
          {"fitted_steps", fit.fitted},
          {"checked_steps", fit.checked},
          {"error_mean", fit.mean_error},
          {"error_of_sum", fit.sum_error}};
}

std::string fit_table(const sim::StepFit& fit) {
  const sim::StepCosts& costs = fit.costs;
  std::string text =
      line("a step: %.1f us, %.2f us a token\n", costs.per_step * 1e6, costs.per_token * 1e6);
  text += line("a layer of it: %.1f us, %.2f us a token, %.4f us a pair\n", costs.per_layer * 1e6,
               costs.per_layer_token * 1e6, costs.per_layer_pair * 1e6);
  text +=
      line("to the next stage: %.1f us, back to the first: %.1f us; an outage: %.3f s (of %zu)\n",
           costs.hop * 1e6, costs.turn * 1e6, costs.outage, fit.outages);
  text += line(
      "fitted to %zu steps, the other %zu are off by %.1f %% in the mean, their sum by %+.1f %%\n",
      fit.fitted, fit.checked, fit.mean_error * 100, fit.sum_error * 100);
  return text;
}

std::string prediction_table(std::string_view path, const sim::PipelineRecording& recording,
                             const sim::PipelinePrediction& made) {
  std::string text = concat("\n", path, ": ", recording.requests.size(), " requests, ",
                            recording.outages.size(), " outages, ", recording.engine,
                            "\n                  measured s  predicted s     off\n");
  const auto row = [&](const std::string& name, double was, double said) {
    text +=
        line("%-16s %11.4f %12.4f %+6.1f %%\n", name.c_str(), was, said, percent_off(said, was));
  };
  row("makespan", made.measured_s, made.predicted_s);
  for (std::size_t i = 0; i < made.measured_busy_s.size(); ++i)
    row(concat("stage ", i, " busy"), made.measured_busy_s[i], made.predicted_busy_s[i]);
  return text;
}

json prediction_json(std::string_view path, const sim::PipelineRecording& recording,
                     const sim::PipelinePrediction& made) {
  return {{"recording", path},
          {"engine", recording.engine},
          {"requests", recording.requests.size()},
          {"outages", recording.outages.size()},
          {"makespan_s",
           {{"measured", made.measured_s},
            {"predicted", made.predicted_s},
            {"off_percent", percent_off(made.predicted_s, made.measured_s)}}},
          {"busy_s", {{"measured", made.measured_busy_s}, {"predicted", made.predicted_busy_s}}}};
}

}  // namespace

bool is_pipeline_recording(std::string_view text) {
  const json value = parse_shallow(text);
  if (!value.is_object()) return false;
  const auto format = value.find("format");
  return format != value.end() && *format == sim::kPipelineRecording;
}

Result<std::string> run_pipeline_calibration(const SimulateOptions& options,
                                             std::string_view calibrate) {
  AQUA_ASSIGN(const sim::PipelineRecording base,
              of_file(options.calibrate, sim::parse_pipeline_recording(calibrate)));
  AQUA_ASSIGN(const sim::StepFit fit, of_file(options.calibrate, sim::fit_steps(base)));
  std::string text = options.calibrate + ": " + base.engine + "\n" + fit_table(fit);
  json all{{"calibration", fit_json(fit)}, {"engine", base.engine}};
  std::vector<std::string_view> paths;
  if (!options.predict.empty()) report::split_columns(options.predict, paths);
  for (const std::string_view path : paths) {
    AQUA_ASSIGN(const sim::PipelineRecording other, load(path));
    AQUA_ASSIGN(const sim::PipelinePrediction made, of_file(path, sim::predict(fit, base, other)));
    text += prediction_table(path, other, made);
    all["predictions"].push_back(prediction_json(path, other, made));
  }
  return options.json ? all.dump(2, ' ', false, json::error_handler_t::replace) + "\n" : text;
}

}  // namespace aqua::tool
