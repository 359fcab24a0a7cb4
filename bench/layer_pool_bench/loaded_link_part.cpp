// SPDX-License-Identifier: Apache-2.0
// Parts `halved` and `burst`: an adaptive engine that has settled, and then another stream takes
// half of its link, for long or for a few steps. In `halved` it then has the link for itself again.
#include <algorithm>
#include <optional>

#include "base/concat.hpp"
#include "layer_pool_bench/link_load.hpp"
#include "layer_pool_bench/measured_steps.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/scenes.hpp"
#include "layer_pool_bench/serving.hpp"
#include "layer_pool_bench/timing.hpp"

namespace aqua::bench {
namespace {

constexpr unsigned kBurst = 6;        // steps
constexpr unsigned kQuietSteps = 16;  // before the load

struct Watched {
  LayerPoolStatus before{}, after{};
  std::vector<MeasuredStep> quiet{}, loaded{};  // before the load, and from it on
  std::optional<unsigned> back_after{};  // steps from the end of the load, see watch_return()
  std::size_t checked = 0;
};

// Runs so many steps, the first of which is step `first`. Those behind a change of frames are not
// measured.
std::vector<MeasuredStep> watch_steps(Serving& serving, unsigned steps, unsigned first = 1) {
  std::vector<MeasuredStep> all;
  LayerPoolStatus last = serving.status();
  for (unsigned number = first; number < first + steps; ++number) {
    serving.step();
    serving.engine().wait(serving.engine().posted() - 1);
    const LayerPoolStatus now = serving.status();
    const double compute = now.compute_seconds - last.compute_seconds;
    const double stall = now.stall_seconds - last.stall_seconds;
    if (compute + stall > 0)
      all.push_back({number, stall / (compute + stall), now.fetch_seconds - last.fetch_seconds});
    last = now;
  }
  return all;
}

// How many steps it takes until there are as few frames as before, or one more.
std::optional<unsigned> watch_return(Serving& serving, std::uint32_t frames, unsigned most) {
  for (unsigned steps = 0; steps < most; ++steps) {
    if (serving.status().frames <= frames + 1) return steps;
    serving.step();
    serving.engine().wait(serving.engine().posted() - 1);
  }
  return std::nullopt;
}

Watched watch(const Effort& effort, unsigned loaded_steps) {
  const Scene scene = scenes(effort)[1];
  Runtime runtime = open_device(scene.link_bytes_per_second, 320, 640);
  Serving serving(runtime, {.shape = scene.shape, .goal = "capacity", .arrival_steps = 2});
  serving.settle(effort.quiet, effort.most_settling);
  Watched result;
  result.quiet = watch_steps(serving, kQuietSteps);
  result.before = serving.status();
  // What has grown once is away in two tensors, so that a layer comes in by two copies.
  const std::size_t piece = serving.used() * scene.shape.block_bytes / 2;
  LinkLoad load(runtime, piece);
  load.start(piece);
  result.loaded = watch_steps(serving, loaded_steps);
  if (loaded_steps < effort.watched) {
    load.stop();
    const auto rest = watch_steps(serving, effort.watched - loaded_steps, loaded_steps + 1);
    result.loaded.insert(result.loaded.end(), rest.begin(), rest.end());
  }
  load.stop();
  result.after = serving.status();
  if (loaded_steps == effort.watched)
    result.back_after = watch_return(serving, result.before.frames, effort.most_settling);
  result.checked = serving.engine().check();
  return result;
}

nlohmann::json row_of(const char* part, const Watched& watched, unsigned loaded_steps) {
  const auto shares = stall_shares(watched.loaded);
  return {{"part", part},
          {"loaded_steps", loaded_steps},
          {"frames_before", watched.before.frames},
          {"frames_after", watched.after.frames},
          {"changes", watched.after.resizes - watched.before.resizes},
          {"reason", watched.after.reason},
          {"fetch_slowdown", fetch_slowdown(watched.quiet, watched.loaded, kBurst)},
          {"stall_share_before", summary(stall_shares(watched.quiet))},
          {"stall_share", summary(shares)},
          {"stalled_steps", stalled_steps(watched.loaded, loaded_steps)},
          {"stall_shares", shares},
          {"stalled_is_more_than", kStall},
          {"checked_bytes", watched.checked}};
}

}  // namespace

void measure_halved(Report& report, const Effort& effort) {
  for (unsigned round = 0; round < effort.few_rounds; ++round) {
    const Watched watched = watch(effort, effort.watched);
    auto row = row_of("halved", watched, effort.watched);
    row["gone_after_steps"] = gone_after(watched.loaded);
    row["back_after_steps"] =
        watched.back_after ? nlohmann::json(*watched.back_after) : nlohmann::json();
    report.add(concat("link shared: fetches take ", row["fetch_slowdown"].dump(),
                      " times as long; ", watched.before.frames, " frames, then ",
                      watched.after.frames, "; stalls gone after ", row["gone_after_steps"].dump(),
                      " steps; alone again, back ", "after ", row["back_after_steps"].dump()),
               row);
  }
}

void measure_burst(Report& report, const Effort& effort) {
  const unsigned loaded_steps = std::min(kBurst, effort.watched);
  for (unsigned round = 0; round < effort.few_rounds; ++round) {
    const Watched watched = watch(effort, loaded_steps);
    const auto row = row_of("burst", watched, loaded_steps);
    report.add(concat("link shared for ", loaded_steps, " steps: ", row["stalled_steps"].dump(),
                      " stalled, ", row["changes"].dump(), " changes of frames"),
               row);
  }
}

}  // namespace aqua::bench
