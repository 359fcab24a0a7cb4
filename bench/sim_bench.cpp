// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is: requests a second over a long trace, with and without skipping, and
// what an event costs against the requests that wait.
//
//   sim_bench [--requests N] [--json FILE]     AQUA_DATA names the folder with the Azure trace
//
// One core, one run of each; processor time. Ratios are between runs of the same process.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "harness.hpp"
#include "report/report_file.hpp"
#include "tools/sim/input/spec_json.hpp"
#include "tools/sim/input/trace.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::bench {
namespace {

using namespace aqua::sim;
using nlohmann::json;

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Trace load_trace() {
  const char* root = std::getenv("AQUA_DATA");
  if (root == nullptr || *root == '\0') {
    std::fprintf(stderr, "sim_bench: AQUA_DATA names no folder with traces/\n");
    std::exit(2);
  }
  return must(read_trace_file(std::string(root) + "/traces/azure_llm_inference_conv_2023.csv"),
              "trace");
}

constexpr double kContended = 16'000;  // KV tokens

struct Run {
  double cpu_s = 0;
  RunOutcome outcome;
};

Run play(const Scenario& scenario, const char* policy, const Workload& workload) {
  const Ground ground = must(resolve(scenario, {}), "ground");
  const PolicyName name = must(parse_policy(policy), "policy");
  const double start = cpu_seconds();
  RunOutcome outcome = must(simulate(ground, name, workload), policy);
  return {.cpu_s = cpu_seconds() - start, .outcome = std::move(outcome)};
}

Scenario scenario_with(double kv_tokens) {
  Scenario scenario;
  scenario.model = must(load_model("llama-3-8b"), "model");
  scenario.server = must(load_server("h100"), "server");
  if (kv_tokens > 0) scenario.kv_tokens = kv_tokens;
  return scenario;
}

json long_trace(const Trace& trace, std::uint64_t requests) {
  json rows;
  const Workload work = must(tiled(trace, requests), "workload");
  // All that the GPU has; and so little that the fair ones page all the time.
  for (const double kv_tokens : {0.0, kContended}) {
    for (const char* policy : {"fcfs", "cfs+aqua", "cfs+dram", "las+aqua", "vtc"}) {
      const Run run = play(scenario_with(kv_tokens), policy, work);
      const double minute = static_cast<double>(requests) / run.cpu_s * 60;
      const Totals& totals = run.outcome.totals;
      std::printf(
          "%-10s %8.0f KV tokens %10.0f requests/min %12llu iterations %10llu swaps %8.2f s\n",
          policy, kv_tokens, minute, static_cast<unsigned long long>(totals.iterations),
          static_cast<unsigned long long>(totals.swaps_out), run.cpu_s);
      rows.push_back({{"policy", policy},
                      {"kv_tokens", kv_tokens},
                      {"requests", requests},
                      {"cpu_s", run.cpu_s},
                      {"requests_per_minute", minute},
                      {"iterations", run.outcome.totals.iterations},
                      {"decisions", run.outcome.totals.decisions},
                      {"swaps_out", run.outcome.totals.swaps_out},
                      {"recomputes", run.outcome.totals.recomputes}});
    }
  }
  return rows;
}

json skipping(const Trace& trace, std::uint64_t requests) {
  Scenario scenario = scenario_with(0);
  const Workload work = must(tiled(trace, requests), "workload");
  const Run with = play(scenario, "cfs+aqua", work);
  scenario.skip = false;
  const Run without = play(scenario, "cfs+aqua", work);
  std::printf("skipping: %.2f times as fast\n", without.cpu_s / with.cpu_s);
  return {{"requests", requests}, {"speedup", without.cpu_s / with.cpu_s}};
}

// All come at once; the device holds some thirty of them, for longer than a slice. Processor time
// for each decision of the scheduler and what follows from it.
json queue_lengths() {
  json rows;
  for (const std::uint64_t queued : {1'000u, 10'000u, 100'000u}) {
    Trace trace;
    trace.requests.push_back({.prompt_tokens = 500, .output_tokens = 100});
    Workload work = must(tiled(trace, queued), "workload");
    for (auto& request : work.requests) request.arrival = 0;
    for (const char* policy : {"fcfs", "cfs+aqua"}) {
      const Run run = play(scenario_with(16'000), policy, work);
      const double each = run.cpu_s / static_cast<double>(run.outcome.totals.decisions) * 1e9;
      std::printf("%-10s %7llu queued: %7.0f ns a decision\n", policy,
                  static_cast<unsigned long long>(queued), each);
      rows.push_back({{"policy", policy}, {"queued", queued}, {"ns_per_decision", each}});
    }
  }
  return rows;
}

// A million requests a minute with every policy; an event's cost with a hundred times as many
// queued over that with few.
json goals(const json& all) {
  double slowest = 1e300;
  for (const json& row : all.at("long_trace")) {
    slowest = std::min(slowest, row.at("requests_per_minute").get<double>());
  }
  json reached{{"slowest_requests_per_minute", slowest}};
  std::map<std::string, double> few;
  for (const json& row : all.at("queue_lengths")) {
    const auto cost = row.at("ns_per_decision").get<double>();
    const auto policy = row.at("policy").get<std::string>();
    few.try_emplace(policy, cost);  // the first row has the fewest
    reached["cost_of_100000_queued_over_1000"][policy] = cost / few[policy];
  }
  return reached;
}

}  // namespace
}  // namespace aqua::bench

int main(int argc, char** argv) {
  std::uint64_t requests = 1'000'000;
  std::string file;
  CLI::App app{"How fast the simulator is, with long traces and long queues."};
  app.option_defaults()->always_capture_default();
  app.add_option("--requests", requests, "of the long trace")->check(CLI::Range(1, 100'000'000));
  app.add_option("--json", file, "write the result");
  CLI11_PARSE(app, argc, argv);
  const auto trace = aqua::bench::load_trace();
  nlohmann::json all{{"trace", "azure_llm_inference_conv_2023, tiled"}};
  all["long_trace"] = aqua::bench::long_trace(trace, requests);
  all["skipping"] = aqua::bench::skipping(trace, std::min<std::uint64_t>(requests, 100'000));
  all["queue_lengths"] = aqua::bench::queue_lengths();
  all["goals"] = aqua::bench::goals(all);
  std::printf("goals: %s\n", all["goals"].dump().c_str());
  aqua::bench::write_report(file, all);
  return 0;
}
