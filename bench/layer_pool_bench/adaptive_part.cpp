// SPDX-License-Identifier: Apache-2.0
// Part `adaptive`: tokens a second with the goal `capacity`, once it has settled, over those of the
// best fixed number of frames. All numbers are tried but those that hold no more blocks than a
// higher one does.
#include <memory>

#include "base/concat.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/scenes.hpp"
#include "layer_pool_bench/serving.hpp"
#include "layer_pool_bench/timing.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr unsigned kArrivalSteps = 8;  // from one sequence to the next

std::string spoken(std::optional<std::uint64_t> step) {
  return step ? concat(*step) : "none";
}
nlohmann::json or_null(std::optional<std::uint64_t> step) {
  return step ? nlohmann::json(*step) : nlohmann::json();
}

struct Best {
  std::uint32_t frames = 0;
  double rate = 0;
};

// Each number of frames, with a batch of the adaptive engine after each of its own.
Best try_fixed(Runtime& runtime, const Effort& effort, Serving& adaptive,
               std::vector<double>& adaptive_rates, nlohmann::json& rows, std::size_t& checked) {
  const Shape& shape = adaptive.engine().shape();
  const LayerPool& pool = adaptive.engine().pool();
  Best best;
  std::uint32_t held = 0;  // blocks, by the frames that were tried last
  for (std::uint32_t frames = shape.layers; frames >= 3; --frames) {
    if (pool.usable_blocks(frames) <= held) continue;
    held = pool.usable_blocks(frames);
    Serving fixed(runtime, {.shape = shape, .frames = frames});
    fixed.step();
    std::vector<double> rates;
    for (unsigned round = 0; round < effort.few_rounds; ++round) {
      rates.push_back(fixed.batch(effort.steps).rate());
      adaptive_rates.push_back(adaptive.batch(effort.steps).rate());
    }
    checked += fixed.engine().check();
    rows.push_back({{"frames", frames},
                    {"usable_blocks", held},
                    {"sequences", fixed.running()},
                    {"tokens_per_s", summary(rates)}});
    if (median(rates) > best.rate) best = {frames, median(rates)};
  }
  return best;
}

void measure_scene(Report& report, const Effort& effort, const Scene& scene) {
  Runtime runtime = open_device(scene.link_bytes_per_second, 320, 640);
  Serving adaptive(runtime,
                   {.shape = scene.shape, .goal = "capacity", .arrival_steps = kArrivalSteps});
  adaptive.settle(effort.quiet, effort.most_settling);
  const auto converged = adaptive.changed_at();
  const auto filled = adaptive.filled_at();
  const LayerPoolStatus settled = adaptive.status();

  nlohmann::json fixed = nlohmann::json::array();
  std::vector<double> rates;
  std::size_t checked = 0;
  const Best best = try_fixed(runtime, effort, adaptive, rates, fixed, checked);
  checked += adaptive.engine().check();
  std::vector<double> over;
  for (const double rate : rates) over.push_back(rate / best.rate);
  const LayerPoolStatus end = adaptive.status();
  const auto ratio = summary(over);
  report.add(concat(scene.shape.name, ": ", spread_of(ratio), " of the best fixed (", best.frames,
                    " frames) with ", end.frames, "; converged at step ", spoken(converged),
                    ", first full at ", spoken(filled)),
             {{"part", "adaptive"},
              {"shape", scene.shape.name},
              {"layers", scene.shape.layers},
              {"link_bytes_per_second", scene.link_bytes_per_second},
              {"arrival_steps", kArrivalSteps},
              {"ratio", ratio},
              {"frames", end.frames},
              {"reason", end.reason},
              {"best_frames", best.frames},
              {"sequences", adaptive.running()},
              {"converged_step", or_null(converged)},
              {"filled_step", or_null(filled)},
              {"resizes", settled.resizes},
              {"resizes_while_measured", end.resizes - settled.resizes},
              {"fixed", fixed},
              {"checked_bytes", checked}});
}

}  // namespace

void measure_adaptive(Report& report, const Effort& effort) {
  for (const Scene& scene : scenes(effort)) measure_scene(report, effort, scene);
}

}  // namespace aqua::bench
