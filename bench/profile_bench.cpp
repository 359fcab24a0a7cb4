// SPDX-License-Identifier: Apache-2.0
// Does `aqua profile` find the truth? Profiles a live engine again and again, each time with other
// arrivals, and compares with the rate that 20 seeds of an offline simulation of it sustain.
//
// The engine is simulated, in real time: latencies are measured at --speed times their pace, so the
// machine must have nothing else to do. A run takes one to two minutes with 1,000 requests a load;
// the 20 runs by default about half an hour. The goals: within one step in 19 of 20 runs, with at
// most 2 ceil(log2(rates)) probes; "goals_met" in the JSON and the exit status say. A run that
// fails or is not complete found nothing.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "base/read_file.hpp"
#include "harness.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"
#include "tests/tools/profiler/truth.hpp"
#include "tools/cli/profile/profile_command.hpp"
#include "tools/profiler/search/record.hpp"
#include "tools/report/text.hpp"
#include "tools/sim_server/sim_server.hpp"

namespace {

using namespace aqua;
using bench::must;
using bench::now;
using nlohmann::json;

constexpr profiler::RateRange kRange{};

struct Wanted {
  int runs = 20;
  std::uint64_t requests = 1000;
  double speed = 20;
  std::string json{};
};

struct Ground {
  sim::Ground engine = profiler::test::truth_ground();
  sim::Trace trace = profiler::test::truth_trace();
};

int rates() {
  return static_cast<int>(std::lround((kRange.to - kRange.from) / kRange.step)) + 1;
}

int probes_allowed() {
  return 2 * static_cast<int>(std::ceil(std::log2(rates())));
}

void write_lengths(const sim::Trace& trace, const std::filesystem::path& path) {
  std::ofstream out(path);
  out << "num_prefill_tokens,num_decode_tokens\n";
  for (const sim::TraceRequest& request : trace.requests)
    out << request.prompt_tokens << ',' << request.output_tokens << '\n';
}

// One profile of an engine of its own, kept at the end of `directory`.
json run_once(const Ground& ground, const Wanted& wanted, int run, double truth,
              const std::filesystem::path& directory) {
  const tool::SimServer server(ground.engine, wanted.speed);
  tool::ProfileOptions options;
  options.url = server.url();
  options.trace = directory / "lengths.csv";
  options.out = directory / "profile.json";
  options.range = kRange;
  options.seed = static_cast<std::uint64_t>(run);
  options.requests = wanted.requests;
  options.speed = wanted.speed;
  options.memory.bytes_per_token = ground.engine.kv_bytes_per_token;
  options.progress = false;
  std::filesystem::remove(options.out);  // a run that fails at once leaves none
  const double start = now();
  const auto said = tool::run_profile(options, {});
  if (!said.ok() && !std::filesystem::exists(options.out))
    std::exit((std::fprintf(stderr, "run %d: %s\n", run, said.error().message.c_str()), 1));
  const auto record = must(profiler::parse_record(must(read_file(options.out), "read")), "profile");
  double lateness_s = 0;
  for (const auto& probe : record.evidence.probes)
    lateness_s = std::max(lateness_s, probe.lateness_s);
  const double found = record.profile.max_rps;
  const bool found_it =
      said.ok() && record.profile.complete && std::abs(found - truth) <= kRange.step + 1e-9;
  json row{{"seed", run},
           {"found_rps", found},
           {"within_a_step", found_it},
           {"probes", record.evidence.probes.size()},
           {"complete", record.profile.complete},
           {"role", to_string(record.profile.role)},
           {"client_lateness_s", lateness_s},
           {"seconds", now() - start}};
  if (!said.ok()) row["reason"] = said.error().message;
  std::printf("run %2d: %4.1f requests/s, the truth is %4.1f; %2zu probes, %5.1f s%s%s\n", run,
              found, truth, record.evidence.probes.size(), row["seconds"].get<double>(),
              said.ok() ? "" : ": ", said.ok() ? "" : said.error().message.c_str());
  std::fflush(stdout);
  return row;
}

json measure(const Wanted& wanted) {
  const Ground ground;
  const double start = now();
  const double truth = profiler::test::truth(ground.engine, ground.trace, kRange, wanted.requests);
  std::printf("the truth, by 20 seeds offline: %g requests/s (%.1f s)\n", truth, now() - start);
  std::string directory = "/tmp/aqua-profile-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) std::exit((std::perror("/tmp"), 1));
  write_lengths(ground.trace, std::filesystem::path(directory) / "lengths.csv");
  json rows = json::array();
  int within = 0;
  std::size_t most_probes = 0;
  for (int run = 1; run <= wanted.runs; ++run) {
    rows.push_back(run_once(ground, wanted, run, truth, directory));
    within += rows.back()["within_a_step"].get<bool>() ? 1 : 0;
    most_probes = std::max(most_probes, rows.back()["probes"].get<std::size_t>());
  }
  std::filesystem::remove_all(directory);
  const bool met =
      within * 20 >= wanted.runs * 19 && most_probes <= static_cast<std::size_t>(probes_allowed());
  return {{"truth_rps", truth},
          {"step_rps", kRange.step},
          {"rates", rates()},
          {"requests", wanted.requests},
          {"speed", wanted.speed},
          {"runs", wanted.runs},
          {"within_a_step", within},
          {"most_probes", most_probes},
          {"probes_allowed", probes_allowed()},
          {"goals_met", met},
          {"seconds", now() - start},
          {"each", rows}};
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  CLI::App app{"Does `aqua profile` find the truth?"};
  app.option_defaults()->always_capture_default();
  app.add_option("--runs", wanted.runs)->check(CLI::Range(1, 1000));
  app.add_option("--requests", wanted.requests, "of a load")->check(CLI::PositiveNumber);
  app.add_option("--speed", wanted.speed, "times its pace that latencies are measured at")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", wanted.json, "write the report");
  CLI11_PARSE(app, argc, argv);
  const json report = measure(wanted);
  std::printf("%d of %d within a step; at most %zu probes, %d are allowed: %s\n",
              report["within_a_step"].get<int>(), wanted.runs,
              report["most_probes"].get<std::size_t>(), probes_allowed(),
              report["goals_met"].get<bool>() ? "as promised" : "MISSED");
  aqua::bench::write_report(wanted.json, report);
  return report["goals_met"].get<bool>() ? 0 : 1;
}
