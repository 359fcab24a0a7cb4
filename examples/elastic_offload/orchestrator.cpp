// SPDX-License-Identifier: Apache-2.0
// The orchestrator's process: it starts the others, watches the play and reports.
#include <cstdio>

#include "must.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "roles.hpp"
#include "verdict.hpp"

namespace aqua::example {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void watch(Play& play, Fleet& fleet, const Options& options) {
  const auto start = Clock::now();
  Progress progress;
  play.begin();
  while (play.act() != Act::over) {
    fleet.listen(std::chrono::milliseconds(100));
    play.follow(seconds_since(start));
    progress.show(play, fleet, seconds_since(start));
    if (Clock::now() - start > options.timeout) {
      throw Failure("after " + std::to_string(options.timeout.count()) + " s still " +
                    std::string(to_string(play.act())) + ", with " +
                    std::to_string(play.requests_done()) + " of " +
                    std::to_string(play.requests_sent()) + " requests done");
    }
  }
}

}  // namespace

int run_orchestrator(const Options& options) {
  const auto start = Clock::now();
  const StopSignals stop;
  const Workload work = load_workload(options.workload);
  if (!options.json.empty()) write_json(options.json, nlohmann::json::object());  // fails early
  std::fputs(describe_scaling(options, work).c_str(), stdout);
  std::puts("starting  a coordinator, two producers (emu:0, emu:1), two consumers (emu:2, emu:3)");
  std::fflush(stdout);

  const PrivateDirectory directory;
  Fleet fleet(options, directory.path(), stop);
  Play play(options, work, fleet);
  watch(play, fleet, options);
  fleet.finish();

  Outcome outcome{.options = options, .work = work, .play = play};
  for (const auto& consumer : fleet.consumers()) outcome.consumers.push_back(consumer.stats);
  for (const auto& producer : fleet.producers()) outcome.producers.push_back(producer.stats);
  outcome.wall_seconds = seconds_since(start);
  const nlohmann::json report = to_json(outcome);
  print_summary(report);
  if (!options.json.empty()) write_json(options.json, report);
  return verdict(complaints(report));
}

}  // namespace aqua::example
