// SPDX-License-Identifier: Apache-2.0
// The orchestrator's process: it starts the others, watches the play and reports.
#include <cstdio>
#include <optional>

#include "dashboard_window.hpp"
#include "must.hpp"
#include "roles.hpp"
#include "show/page.hpp"
#include "show/progress.hpp"
#include "show/report.hpp"
#include "verdict.hpp"

namespace aqua::example {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Timeline watch(Play& play, Fleet& fleet, const Options& options) {
  const auto start = Clock::now();
  Progress progress;
  Timeline timeline;
  while (play.act() != Act::over) {
    play.follow(seconds_since(start));
    const Standing now = standing(play, fleet, seconds_since(start));
    const auto news = play.news();
    progress.show(now, news);
    timeline.note(now, news);
    fleet.listen(std::chrono::milliseconds(100));
    if (Clock::now() - start > options.timeout) {
      throw Failure("after " + std::to_string(options.timeout.count()) + " s still " +
                    std::string(to_string(play.act())) + ", with " +
                    std::to_string(play.requests_done()) + " of " +
                    std::to_string(play.requests_sent()) + " requests done");
    }
  }
  return timeline;
}

}  // namespace

int run_orchestrator(const Options& options) {
  const auto start = Clock::now();
  const StopSignals stop;
  const Workload work = load_workload(options.workload);
  if (!options.json.empty()) write_json(options.json, nlohmann::json::object());  // fails early
  if (!options.html.empty()) write_text(options.html, "");
  std::fputs(describe_scaling(options, work).c_str(), stdout);
  std::puts(
      "starting  a coordinator and four engines: emu:0 and emu:1 lend, emu:2 and emu:3\n"
      "          borrow; some ten seconds until all are ready");
  std::fflush(stdout);

  const PrivateDirectory directory;
  Fleet fleet(options, directory.path(), stop);
  std::optional<DashboardWindow> window;
  if (options.dashboard != 0) {
    window.emplace(options.dashboard, directory.path() / "coordinator.sock");
    std::printf("dashboard http://127.0.0.1:%u/ while it runs\n", options.dashboard);
  }
  Play play(options, work, fleet);
  const Timeline timeline = watch(play, fleet, options);
  window.reset();
  fleet.finish();

  RunRecord outcome{.options = options, .work = work, .play = play};
  for (const auto& consumer : fleet.consumers()) outcome.consumers.push_back(consumer.stats);
  for (const auto& producer : fleet.producers()) outcome.producers.push_back(producer.stats);
  outcome.wall_seconds = seconds_since(start);
  const nlohmann::json report = to_json(outcome);
  std::fputs(summary(report).c_str(), stdout);
  if (!options.json.empty()) write_json(options.json, report);
  if (!options.html.empty()) {
    write_text(options.html, render_page(report, timeline));
    std::printf("Pictures: %s\n", options.html.c_str());
  }
  std::puts("To read next: docs/engine/integrating.md, preemption in an engine of yours.");
  return verdict(complaints(report));
}

}  // namespace aqua::example
