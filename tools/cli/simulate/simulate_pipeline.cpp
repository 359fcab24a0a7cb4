// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/simulate_pipeline.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/write_file.hpp"
#include "tools/report/text.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/pipeline/search.hpp"
#include "tools/sim/pipeline/timeline.hpp"

namespace aqua::tool {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRequests = 1024;  // where --requests says nothing
constexpr double kBytesPerGb = 1e9;

struct Row {
  sim::PipelinePolicy policy{};
  std::string missing{};            // why there is nothing to show
  sim::BestPipelines best{};        // of the first seed
  std::vector<double> makespans{};  // by seed
  std::vector<double> latencies{};  // median, a token
};

double busy_share(const sim::PipelineOutcome& outcome) {
  double busy = 0;
  for (const sim::MachineUse& machine : outcome.machines) busy += sim::seconds(machine.busy);
  return busy / sim::seconds(outcome.makespan) / static_cast<double>(outcome.machines.size());
}

double mean_of(const std::vector<double>& values) {
  return sim::confidence(values).mean;
}

double machine_hours(const Row& row) {
  return mean_of(row.makespans) / 3600 * static_cast<double>(row.best.outcome.machines.size());
}

Result<Row> play_policy(const sim::PipelineQuestion& question, const sim::PipelinePolicy& policy,
                        std::uint64_t seeds) {
  Row row{.policy = policy};
  auto best = sim::find_best(question, policy, 1);
  if (!best.ok() && best.error().code == Code::resource_exhausted) {
    row.missing = best.error().message;
    return row;
  }
  if (!best.ok()) return std::move(best).error();
  row.best = std::move(best).value();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::optional<sim::PipelineOutcome> other;
    if (seed > 1) {
      auto played = sim::play_split(question, policy, row.best.split, seed);
      if (!played.ok() && played.error().code == Code::resource_exhausted) {
        row.missing = concat(played.error().message, " (seed ", seed, ")");
        return row;
      }
      AQUA_ASSIGN(other, std::move(played));
    }
    const sim::PipelineOutcome& outcome = other ? *other : row.best.outcome;
    row.makespans.push_back(sim::seconds(outcome.makespan));
    row.latencies.push_back(sim::normalised_latency(outcome, 0.5));
  }
  return row;
}

json row_json(const Row& row) {
  if (!row.missing.empty()) return {{"missing", row.missing}};
  const sim::PipelineOutcome& outcome = row.best.outcome;
  const auto side = [](const kv_stream::Side& of) {
    json shown{{"pipelines", of.pipelines}, {"depth", of.depth}, {"microbatch", of.microbatch}};
    if (of.swaps) shown["swapped"] = {{"lent", of.away.lent}, {"host", of.away.host}};
    return shown;
  };
  json all{{"split", kv_stream::describe(row.best.split)},
           {"token", side(row.best.split.token)},
           {"machines", outcome.machines.size()},
           {"splits_played", row.best.played},
           {"planned_s_per_request", row.best.split.seconds_per_request},
           {"makespan_s", mean_of(row.makespans)},
           {"machine_hours", machine_hours(row)},
           {"normalised_latency_p50_s", mean_of(row.latencies)},
           {"normalised_latency_p99_s", sim::normalised_latency(outcome, 0.99)},
           {"busy_share", busy_share(outcome)},
           {"outages", outcome.outages},
           {"down_s", sim::seconds(outcome.down)},
           {"store_full_s", sim::seconds(outcome.store_full)},
           {"prompt_tokens", outcome.prompt_tokens},
           {"output_tokens", outcome.output_tokens},
           {"passes", outcome.passes},
           {"activation_bytes", outcome.activation_bytes},
           {"streamed_bytes", outcome.streamed_bytes},
           {"swapped_bytes", outcome.swapped_bytes}};
  if (row.best.split.prompt.pipelines > 0) all["prompt"] = side(row.best.split.prompt);
  if (row.makespans.size() > 1) {
    all["confidence_95"] = {
        {"makespan_s", sim::confidence(row.makespans).half_width},
        {"normalised_latency_p50_s", sim::confidence(row.latencies).half_width}};
  }
  return all;
}

const char* name_of(sim::EarlyStops stops) {
  return stops == sim::EarlyStops::none         ? "none"
         : stops == sim::EarlyStops::microbatch ? "microbatch"
                                                : "request";
}

std::string table(const SimulateOptions& options, const std::vector<Row>& rows) {
  const bool open = options.rate.has_value();
  const auto worth = [&](const Row& row) { return mean_of(open ? row.latencies : row.makespans); };
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.missing.empty() && (best == nullptr || worth(row) < worth(*best))) best = &row;
  }
  std::ostringstream out;
  out << std::fixed;
  if (best != nullptr) {
    out << best->policy.name << " serves best: " << kv_stream::describe(best->best.split)
        << ".\n\n";
  }
  out << std::left << std::setw(22) << "policy" << std::right << std::setw(12) << "makespan s"
      << std::setw(11) << "of best" << std::setw(15) << "machine hours" << std::setw(14)
      << "ms a token" << std::setw(9) << "busy %"
      << "  split\n";
  for (const Row& row : rows) {
    out << std::left << std::setw(22) << row.policy.name << std::right;
    if (!row.missing.empty()) {
      out << "  " << row.missing << '\n';
      continue;
    }
    out << std::setprecision(1) << std::setw(12) << mean_of(row.makespans) << std::setprecision(2)
        << std::setw(11) << worth(row) / worth(*best) << std::setw(15) << machine_hours(row)
        << std::setprecision(1) << std::setw(14) << mean_of(row.latencies) * 1e3 << std::setw(9)
        << busy_share(row.best.outcome) * 100 << "  " << kv_stream::describe(row.best.split)
        << '\n';
  }
  return std::move(out).str();
}

Result<void> write_timeline(const std::string& path, const std::vector<Row>& rows) {
  std::vector<std::string> events;
  std::uint32_t process = 1;
  for (const Row& row : rows) {
    events.push_back(sim::chrome_events(row.best.outcome, row.policy.name, process));
    for (const sim::MachineUse& machine : row.best.outcome.machines) {
      process += machine.stage == 0 ? 1 : 0;
    }
  }
  return write_file(path, sim::chrome_trace(events));
}

struct Point {
  std::string text{};
  json values{};
};

Result<Point> run_point(const SimulateOptions& options, const sim::Trace& trace,
                        report::ProgressLine& bar) {
  const PipelineOptions& asked = options.pipelines;
  AQUA_ASSIGN(const auto policies, sim::parse_pipeline_policies(asked.policies));
  AQUA_ASSIGN(const sim::ModelSpec model, sim::load_model(options.model));
  AQUA_ASSIGN(const sim::ServerSpec server, sim::load_server(options.server));
  sim::PipelineLoad load{.requests = options.requests == 0 ? kRequests : options.requests,
                         .prompt_tokens = asked.prompt,
                         .context = asked.context,
                         .stops = asked.stops,
                         .per_second = options.rate.value_or(0)};
  sim::PipelineLoad whole = load;
  whole.requests = trace.requests.size();
  whole.stops = sim::EarlyStops::request;  // memory is for the longest answer that may be played
  whole.per_second = 0;
  AQUA_ASSIGN(const auto all, sim::pipeline_requests(trace, whole, 1));
  const sim::PipelineLengths lengths = sim::lengths_of(all);
  const std::uint64_t most = std::uint64_t{std::ranges::max(asked.microbatches)} *
                             (std::uint64_t{lengths.longest_prompt} + 1);
  AQUA_ASSIGN(sim::MachineGround ground,
              sim::machine_ground(model, server,
                                  {.profiles = options.profiles,
                                   .max_pass_tokens = static_cast<std::uint32_t>(most)}));
  const sim::ModelledCost cost(ground.cost);
  auto input = sim::plan_input(ground, lengths, asked.machines, asked.microbatches);
  input.stream_overhead = asked.stream_overhead;
  AQUA_TRY(sim::allow_swapping(input, ground, options.profiles, asked.swap,
                               asked.swap_lent_gb * kBytesPerGb));
  sim::PipelineQuestion question{
      .ground = ground,
      .cost = cost,
      .trace = trace,
      .input = std::move(input),
      .load = load,
      .ending = asked.refill ? sim::Ending::refill : sim::Ending::together,
      .chunk_tokens = options.chunk,
      .all_machines = asked.all_machines,
      .links = asked.links,
      .skip = options.skip,
      .timeline = !asked.timeline.empty(),
      .outages = asked.outages,
      .outage_mean_seconds = asked.mtbf.value_or(0),
      .recovery = asked.recovery.value_or(sim::Recovery::restore),
      .recovery_times = {.detection = sim::picos(asked.detection),
                         .restart = sim::picos(asked.restart),
                         .weights = sim::picos(asked.weights)}};
  std::vector<Row> rows;
  for (const sim::PipelinePolicy& policy : policies) {
    bar.show(policy.name, rows.size(), policies.size());
    AQUA_ASSIGN(Row row, play_policy(question, policy, options.seeds));
    rows.push_back(std::move(row));
  }
  if (question.timeline) AQUA_TRY(write_timeline(asked.timeline, rows));

  Point point{.text = table(options, rows),
              .values = {{"model", model.name},
                         {"server", server.name},
                         {"machines", asked.machines},
                         {"seeds", options.seeds},
                         {"workload",
                          {{"requests", load.requests},
                           {"rate", load.per_second},
                           {"stops", name_of(asked.stops)},
                           {"refill", asked.refill},
                           {"prompt_tokens", lengths.prompt},
                           {"output_tokens", lengths.output},
                           {"longest_output", lengths.longest_output}}}}};
  if (asked.mtbf) point.values["workload"]["mtbf_s"] = *asked.mtbf;
  for (const Row& row : rows) point.values["policies"][row.policy.name] = row_json(row);
  for (const sim::Source& source : ground.sources) {
    point.values["sources"].push_back(
        {{"what", source.what}, {"label", source.label}, {"from", source.from}});
  }
  point.text += concat(
      "\n", model.name, " on ", asked.machines, " of ", server.name, ", ", load.requests,
      " requests", load.per_second > 0 ? concat(" at ", load.per_second, " a second") : "",
      "; early stops: ", name_of(asked.stops), asked.refill ? ", refilled at once" : "", "\n");
  for (const sim::Source& source : ground.sources) {
    point.text += concat(source.what, ": ", source.label, " (", source.from, ")\n");
  }
  return point;
}

}  // namespace

Result<std::string> run_pipelines(const SimulateOptions& options, const sim::Trace& trace,
                                  report::ProgressLine& bar) {
  if (!options.sweep) {
    AQUA_ASSIGN(const Point point, run_point(options, trace, bar));
    return options.json ? point.values.dump(2) + "\n" : point.text;
  }
  std::string text;
  json points;
  for (const std::string& value : options.sweep->values) {
    SimulateOptions one = options;
    AQUA_TRY(set_option(one, options.sweep->parameter, value));
    AQUA_ASSIGN(Point point, run_point(one, trace, bar));
    text += concat("--", options.sweep->parameter, " ", value, "\n", point.text, "\n");
    json& swept = point.values[options.sweep->parameter];
    if (const auto number = report::parse_number<double>(value)) {
      swept = *number;
    } else if (!swept.is_object()) {  // as the results by policy are
      swept = value;
    }
    points.push_back(std::move(point.values));
  }
  if (!options.json) return text;
  return json{{"sweep", options.sweep->parameter}, {"points", points}}.dump(2) + "\n";
}

}  // namespace aqua::tool
