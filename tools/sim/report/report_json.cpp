// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "tools/sim/report/metric_fields.hpp"
#include "tools/sim/report/report.hpp"

namespace aqua::sim {
namespace {

using nlohmann::json;

// The first seed's totals. How often the policy was asked is left out: only skipping changes it.
json totals_json(const Totals& totals) {
  return {{"iterations", totals.iterations},
          {"prefill_tokens", totals.prefill_tokens},
          {"decode_tokens", totals.decode_tokens},
          {"recomputed_tokens", totals.recomputed_tokens},
          {"cached_tokens", totals.cached_tokens},
          {"output_tokens", totals.output_tokens},
          {"swaps_out", totals.swaps_out},
          {"swaps_in", totals.swaps_in},
          {"recomputes", totals.recomputes},
          {"bytes_out", totals.bytes_out},
          {"bytes_out_to_peer", totals.bytes_out_peer},
          {"bytes_in", totals.bytes_in},
          {"bytes_prefixes_stored", totals.bytes_stored},
          {"bytes_prefixes_fetched", totals.bytes_fetched},
          {"bytes_evacuated", totals.bytes_evacuated},
          {"bytes_promoted", totals.bytes_promoted},
          {"peak_peer_bytes", totals.peak_peer_bytes},
          {"peak_host_bytes", totals.peak_host_bytes},
          {"busy_s", seconds(totals.busy)},
          {"stretched_by_copies_s", seconds(totals.stretched)}};
}

// The layers' part of the report, from the first seed.
json layers_json(const LayersOutcome& layers) {
  json changes = json::array();
  for (const LayersOutcome::Change& change : layers.frames) {
    changes.push_back(
        {{"at_s", seconds(change.at)}, {"frames", change.frames}, {"iteration", change.iteration}});
  }
  json all{{"expansion_mean", layers.expansion()},
           {"frames", std::move(changes)},
           {"stalled_share", layers.seconds > 0 ? layers.stalled_seconds / layers.seconds : 0},
           {"bytes_in", layers.bytes_in},
           {"bytes_out", layers.bytes_out},
           {"blocks_moved", layers.blocks_moved}};
  if (layers.full_at) all["full_at_iteration"] = *layers.full_at;
  return all;
}

json policy_json(const PolicyRun& run) {
  json row;
  for (const MetricField& metric : kMetricFields) {
    const Interval value = confidence(column(run, metric.field));
    row[std::string(metric.name)] = value.mean;
    if (run.metrics.size() > 1) row["confidence_95"][std::string(metric.name)] = value.half_width;
  }
  row["completed"] = run.metrics.front().completed;
  row["refused"] = run.metrics.front().refused;
  row["totals"] = totals_json(run.outcome.totals);
  if (run.outcome.layers) row["layers"] = layers_json(*run.outcome.layers);
  return row;
}

}  // namespace

std::string render_json(const Comparison& comparison) {
  const Ground& ground = comparison.ground;
  const Scenario& scenario = ground.scenario;
  json changes = json::array();
  for (const LentChange& change : scenario.lent_changes)
    changes.push_back({{"at_s", seconds(change.at)}, {"lent_bytes", change.bytes}});
  json all{{"model", scenario.model.name},
           {"server", scenario.server.name},
           {"tensor_parallel", scenario.tensor_parallel},
           {"kv_tokens", ground.kv_tokens},
           {"kv_bytes_per_token", ground.kv_bytes_per_token},
           {"lent_bytes", scenario.lent_bytes},
           {"host_bytes", scenario.host_bytes ? json(*scenario.host_bytes) : json()},
           {"known_answers", scenario.known_answers},
           {"lent_changes", std::move(changes)},
           {"chunk_tokens", scenario.scheduler.budget_tokens},
           {"slice_iterations", scenario.scheduler.slice_iterations},
           {"sla", {{"ttft_s", comparison.sla.ttft_s}, {"tpot_s", comparison.sla.tpot_s}}},
           {"workload",
            {{"name", comparison.workload},
             {"requests", comparison.requests},
             {"redirected", comparison.redirected},
             {"lengths_lifted", comparison.lifted}}},
           {"seeds", comparison.seeds}};
  for (const Source& source : ground.sources) {
    all["sources"].push_back(
        {{"what", source.what}, {"label", source.label}, {"from", source.from}});
  }
  for (const PolicyRun& run : comparison.runs) all["policies"][run.policy.name] = policy_json(run);
  return all.dump(2) + "\n";
}

}  // namespace aqua::sim
