// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_calibration.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/read_file.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/calibration_text.hpp"
#include "tools/cli/simulate/pipeline_calibration.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/cost/prediction.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

struct Row {
  const char* name;
  const char* key;
  double sim::Metrics::*field;
};
constexpr std::array kRows{Row{"TTFT mean", "ttft_mean_s", &sim::Metrics::ttft_mean_s},
                           Row{"TTFT p50", "ttft_p50_s", &sim::Metrics::ttft_p50_s},
                           Row{"TTFT p99", "ttft_p99_s", &sim::Metrics::ttft_p99_s},
                           Row{"TPOT mean", "tpot_mean_s", &sim::Metrics::tpot_mean_s},
                           Row{"TPOT p99", "tpot_p99_s", &sim::Metrics::tpot_p99_s},
                           Row{"latency mean", "latency_mean_s", &sim::Metrics::latency_mean_s},
                           Row{"makespan", "makespan_s", &sim::Metrics::makespan_s}};

json fit_json(const sim::CostFitReport& report) {
  const sim::CostFit& fit = report.fit;
  const auto copy = [](const sim::CopyCost& cost) {
    return json{{"latency_s", cost.latency_s}, {"per_byte_s", cost.per_byte_s}};
  };
  return {{"tokens", fit.points},
          {"seconds", fit.seconds},
          {"per_row_s", fit.per_row_s},
          {"per_kv_token_s", fit.per_kv_token_s},
          {"per_pair_s", fit.per_pair_s},
          {"per_any_pair_s", fit.per_any_pair_s},
          {"kv_step_tokens", fit.kv_step_tokens},
          {"copy_out", copy(fit.out)},
          {"copy_in", copy(fit.in)},
          {"copies_out", report.copies_out},
          {"copies_in", report.copies_in},
          {"fitted_iterations", report.fitted},
          {"checked_iterations", report.checked},
          {"error_mean", report.mean_error},
          {"error_p90", report.p90_error},
          {"error_of_sum", report.sum_error}};
}

std::string fit_table(const sim::CostFitReport& report) {
  const sim::CostFit& fit = report.fit;
  std::string text = "tokens    ms (an iteration's linear part and the engine's own time)\n";
  for (std::size_t i = 0; i < fit.points.size(); ++i) {
    text += line("%6u %8.3f\n", fit.points[i], fit.seconds[i] * 1e3);
  }
  text += line(
      "and %.4f ms a row, %.5f us a KV token of a decode, %.5f us a pair of a prompt, "
      "%.5f us a pair of any two (KV in steps of %u)\n",
      fit.per_row_s * 1e3, fit.per_kv_token_s * 1e6, fit.per_pair_s * 1e6, fit.per_any_pair_s * 1e6,
      fit.kv_step_tokens);
  text += line("copies: %zu out, %.3f ms + %.3f ms/MB; %zu in, %.3f ms + %.3f ms/MB\n",
               report.copies_out, fit.out.latency_s * 1e3, fit.out.per_byte_s * 1e9,
               report.copies_in, fit.in.latency_s * 1e3, fit.in.per_byte_s * 1e9);
  text += line(
      "fitted to %zu iterations, the other %zu are off by %.1f %% in the mean, %.1f %% at "
      "the 90th percentile, their sum by %+.1f %%\n",
      report.fitted, report.checked, report.mean_error * 100, report.p90_error * 100,
      report.sum_error * 100);
  return text;
}

json prediction_json(const sim::Prediction& prediction) {
  json all;
  for (const Row& row : kRows) {
    const double was = prediction.measured.*row.field, said = prediction.predicted.*row.field;
    all[row.key] = {{"measured", was},
                    {"predicted", said},
                    {"off_percent", percent_off(said, was)},
                    {"percent_if_1_percent_slower", sim::sensitivity(prediction, row.field)}};
  }
  return all;
}

std::string prediction_table(const std::string& path, const sim::Recording& recording,
                             const sim::Prediction& prediction) {
  std::string text =
      "\n" + path + ": " + recording.policy + ", " + std::to_string(recording.requests.size()) +
      " requests, " + recording.engine +
      "\n                  measured s  predicted s     off   if it were 1 % slower\n";
  for (const Row& row : kRows) {
    const double was = prediction.measured.*row.field, said = prediction.predicted.*row.field;
    text += line("%-16s %11.4f %12.4f %+6.1f %% %+8.1f %%\n", row.name, was, said,
                 percent_off(said, was), sim::sensitivity(prediction, row.field));
  }
  return text;
}

// A cost that was never seen would be predicted as none.
Result<void> covers(const sim::CostFitReport& fit, const SimulateOptions& options,
                    std::string_view path, const sim::Recording& other) {
  for (const sim::RecordedCopy& copy : other.copies) {
    if ((copy.out ? fit.copies_out : fit.copies_in) > 0) continue;
    return Error{Code::failed_precondition,
                 concat(path, ": has copies ", copy.out ? "out" : "in", " and ", options.calibrate,
                        " has none to fit their cost to; record that with less memory")};
  }
  return {};
}

}  // namespace

Result<std::string> run_calibration(const SimulateOptions& options) {
  AQUA_ASSIGN(const std::string recorded, read_file(options.calibrate));
  if (is_pipeline_recording(recorded)) return run_pipeline_calibration(options, recorded);
  AQUA_ASSIGN(const sim::Recording base,
              of_file(options.calibrate, sim::parse_recording(recorded)));
  AQUA_ASSIGN(const sim::CostFitReport fit, sim::fit_costs(base));
  std::string text = options.calibrate + ": " + base.engine + "\n" + fit_table(fit);
  json all{{"calibration", fit_json(fit)}, {"engine", base.engine}};
  std::vector<std::string_view> paths;
  if (!options.predict.empty()) report::split_columns(options.predict, paths);
  for (const std::string_view path : paths) {
    AQUA_ASSIGN(const sim::Recording other, sim::load_recording(std::string(path)));
    AQUA_TRY(covers(fit, options, path, other));
    AQUA_ASSIGN(const sim::Prediction prediction, sim::predict(fit.fit, other));
    text += prediction_table(std::string(path), other, prediction);
    json row = prediction_json(prediction);
    row["recording"] = path;
    row["policy"] = other.policy;
    row["requests"] = other.requests.size();
    all["predictions"].push_back(std::move(row));
  }
  return options.json ? all.dump(2, ' ', false, json::error_handler_t::replace) + "\n" : text;
}

}  // namespace aqua::tool
