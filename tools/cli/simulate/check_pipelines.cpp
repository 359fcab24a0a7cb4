// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/check_pipelines.hpp"

#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/pipeline/search.hpp"

namespace aqua::tool {
namespace {

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("simulate: ", what)};
}

// What one engine has, and pipelines do not.
Result<void> check_engine_untouched(const SimulateOptions& o) {
  const SimulateOptions fresh;
  const std::pair<bool, const char*> all[] = {
      {o.lent_gb != fresh.lent_gb, "--lent-gb"},
      {o.host_gb.has_value(), "--host-gb"},
      {o.known_answers, "--known-answers"},
      {!o.lent_changes.empty(), "--lent-at"},
      {o.expansion.has_value(), "--expansion"},
      {!o.link_changes.empty(), "--link-at"},
      {o.burst != fresh.burst, "--burst"},
      {o.burst_seconds != fresh.burst_seconds, "--burst-seconds"},
      {o.quiet != fresh.quiet, "--quiet"},
      {o.after != fresh.after, "--after"},
      {o.speed != fresh.speed, "--speed"},
      {o.kv_tokens.has_value(), "--kv-tokens"},
      {o.prefix_cache, "--prefix-cache"},
      {o.prefix_gb != fresh.prefix_gb, "--prefix-gb"},
      {!o.fallback, "--no-fallback"},
      {o.slice != fresh.slice, "--slice"},
      {o.tensor_parallel != fresh.tensor_parallel, "--tensor-parallel"},
      {o.borrower != fresh.borrower, "--borrower"},
      {o.prompt != fresh.prompt, "--prompt (--fixed-prompt is of pipelines)"},
      {o.skew != fresh.skew, "--skew"},
      {o.share_seconds != fresh.share_seconds, "--share-seconds"},
      {o.sla.ttft_s != fresh.sla.ttft_s || o.sla.tpot_s != fresh.sla.tpot_s, "--sla"}};
  for (const auto& [touched, name] : all) {
    if (touched) return bad(concat(name, " is of one engine, not of --workload pipeline"));
  }
  return {};
}

// What says how outages go on, where there are any; and what does not go together with them.
Result<void> check_outages(const PipelineOptions& o) {
  const PipelineOptions fresh;
  const std::pair<bool, const char*> all[] = {{o.recovery.has_value(), "--recovery"},
                                              {o.detection != fresh.detection, "--detection"},
                                              {o.restart != fresh.restart, "--restart"},
                                              {o.weights != fresh.weights, "--load"}};
  for (const auto& [given, name] : all) {
    if (given && o.outages.empty() && !o.mtbf)
      return bad(
          concat(name, " says how outages go on: give --outages or --mtbf, or leave it out"));
  }
  if ((!o.outages.empty() || o.mtbf) && o.swap != sim::Swapping::never) {
    return bad(concat(o.mtbf ? "--mtbf" : "--outages",
                      " with microbatches that are swapped are not simulated: without --swap"));
  }
  return {};
}

}  // namespace

Result<void> check_pipelines(const SimulateOptions& options) {
  if (options.workload != WorkloadKind::pipeline) {
    if (options.pipelines == PipelineOptions{}) return {};
    return bad(
        "machines in pipelines are --workload pipeline: give that, or leave out what is about "
        "them");
  }
  AQUA_TRY(check_engine_untouched(options));
  if (!options.fleet.pack.empty()) return bad("--pack rules engines, not --workload pipeline");
  if (!options.csv.empty() || !options.html.empty() || options.share > 0 ||
      options.compare != SimulateOptions{}.compare) {
    return bad(
        "--workload pipeline compares --policies, in a table, --json or --timeline: without "
        "--compare, --share, --csv and --html");
  }
  AQUA_TRY(check_outages(options.pipelines));
  if (options.pipelines.swap_lent_gb > 0 && options.pipelines.swap == sim::Swapping::never)
    return bad("--swap-lent-gb is where swapped KV is: give --swap may or must as well");
  const auto policies = sim::parse_pipeline_policies(options.pipelines.policies);
  if (!policies.ok()) return bad(policies.error().message);
  if (options.sweep && !options.pipelines.timeline.empty())
    return bad("--timeline is of one run, not of a --sweep");
  return {};
}

}  // namespace aqua::tool
