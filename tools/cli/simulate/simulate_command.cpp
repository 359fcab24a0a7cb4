// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_command.hpp"

#include <nlohmann/json.hpp>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/simulate/simulate_calibration.hpp"
#include "tools/cli/simulate/simulate_lending.hpp"
#include "tools/cli/simulate/simulate_packing.hpp"
#include "tools/cli/simulate/simulate_pipeline.hpp"
#include "tools/cli/simulate/simulate_setup.hpp"
#include "tools/cli/simulate/simulate_sharing.hpp"
#include "tools/cli/write_file.hpp"
#include "tools/report/progress_line.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/quoted_lengths.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::tool {
namespace {

using Where = report::ProgressLine::Where;

Result<std::string> show_preset(const std::string& name) {
  std::string known;
  for (const sim::Preset& preset : sim::presets()) {
    if (preset.name == name) return std::string(preset.json);
    known += concat(known.empty() ? "" : ", ", preset.name);
  }
  return Error{Code::not_found, concat("no preset '", name, "': there are ", known)};
}

Result<sim::Comparison> run_one(const SimulateOptions& options, const sim::Trace& trace,
                                report::ProgressLine& bar) {
  AQUA_ASSIGN(sim::Ground ground, ground_of(options));
  AQUA_TRY(can_be_met(options.sla, ground));
  AQUA_ASSIGN(const auto policies, sim::parse_policies(options.compare));
  double rate = options.rate.value_or(0);
  if (!options.rate && options.workload != WorkloadKind::trace) {
    bar.show("looking for the stable rate", 0, 1);
    AQUA_ASSIGN(rate, stable_rate(ground, trace, options.sla));
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) seeds.push_back(seed);
  if (!options.lengths.empty()) {
    AQUA_ASSIGN(const auto quoted, sim::find_quoted_lengths(options.lengths));
    ground.sources.push_back({"lengths", "quoted", std::string(quoted.from)});
    ground.sources.push_back({"their distribution", "assumed", "exponential"});
  }
  const auto progress = [&](const std::string& policy, std::uint64_t seed, std::size_t done,
                            std::size_t of) {
    bar.show(seeds.size() > 1 ? concat(policy, ", seed ", seed) : policy, done, of);
  };
  AQUA_ASSIGN(sim::Comparison comparison,
              sim::compare(ground, policies, seeds, options.sla, workload_of(options, trace, rate),
                           progress));
  comparison.workload = describe(options, rate);
  comparison.lifted = trace.lifted;
  return comparison;
}

Result<std::string> run_sweep(const SimulateOptions& options, const sim::Trace& trace,
                              report::ProgressLine& bar) {
  nlohmann::json points;
  std::string text;
  for (const std::string& value : options.sweep->values) {
    SimulateOptions one = options;
    AQUA_TRY(set_option(one, options.sweep->parameter, value));
    AQUA_ASSIGN(const sim::Comparison comparison, run_one(one, trace, bar));
    text += concat("--", options.sweep->parameter, " ", value, "\n", sim::render_table(comparison),
                   "\n");
    auto point = nlohmann::json::parse(sim::render_json(comparison));
    point[options.sweep->parameter] = report::parse_number<double>(value).value_or(0);
    points.push_back(std::move(point));
  }
  if (!options.json) return text;
  return nlohmann::json{{"sweep", options.sweep->parameter}, {"points", points}}.dump(2) + "\n";
}

}  // namespace

Result<std::string> run_simulate(const SimulateOptions& options) {
  if (!options.preset.empty()) return show_preset(options.preset);
  if (!options.calibrate.empty()) return run_calibration(options);
  if (options.workload == WorkloadKind::long_prompt) return run_long_prompt(options);
  AQUA_ASSIGN(const sim::Trace trace, sim::trace_or_lengths(options.trace, options.lengths));
  if (options.workload == WorkloadKind::elastic) return run_elastic(options, trace);
  report::ProgressLine bar(stderr, options.progress ? Where::terminals : Where::nowhere);
  if (options.workload == WorkloadKind::pipeline) return run_pipelines(options, trace, bar);
  if (options.share > 0) return run_sharing(options, trace, bar);
  if (trace.format == sim::TraceFormat::lengths && options.workload == WorkloadKind::trace) {
    return Error{Code::invalid_argument,
                 "these are lengths only: give --workload poisson or burst"};
  }
  if (!options.fleet.pack.empty()) return run_packing(options, trace, bar);
  if (options.sweep) return run_sweep(options, trace, bar);
  AQUA_ASSIGN(const sim::Comparison comparison, run_one(options, trace, bar));
  if (!options.csv.empty()) AQUA_TRY(write_file(options.csv, sim::render_csv(comparison)));
  if (!options.html.empty()) AQUA_TRY(write_file(options.html, sim::render_html(comparison)));
  return options.json ? sim::render_json(comparison) : sim::render_table(comparison);
}

}  // namespace aqua::tool
