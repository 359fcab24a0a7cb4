// SPDX-License-Identifier: Apache-2.0
// Part `schedules`: the schedules `fixed` and `fifo` (Pie, 3.3) of a LayerPool, with the same
// blocks over the same links, from one frame less than layers down to where `fixed` stalls by its
// plan. `fifo` decides by what the host sees complete, so its host waits for each layer's kernels
// before it begins the next. Where a layer is not there even then, its copies are taken to be
// complete at once, and not waited for as in the replay. What waiting for kernels costs by itself
// is measured with all layers resident, and `fifo` stalls where it takes longer than that.
// `fifo_ahead` is `fifo` with a host that launches a step ahead, as that of `fixed` does. And the
// same replayed in virtual time, by the times measured.
#include <algorithm>

#include "base/concat.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/timing.hpp"
#include "must.hpp"
#include "samples.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"

namespace aqua::bench {
namespace {

// A step over what its layers compute, once steps are under way.
double replayed(const char* schedule, const Shape& shape, std::uint32_t frames,
                const layer_swap::StepTimes& times) {
  constexpr int kFirst = 4, kSteps = 24;
  layer_swap::StepTimer timer(
      must(layer_swap::make_layer_schedule(schedule, {shape.layers, frames}), "schedule"));
  double seconds = 0;
  for (int step = 0; step < kFirst + kSteps; ++step) {
    const double took = must(timer.step(times), "step").seconds;
    if (step >= kFirst) seconds += took;
  }
  return seconds / (kSteps * times.compute * shape.layers);
}

LayerPoolOptions with_fifo(LayerPoolOptions options) {
  options.schedule = "fifo";
  return options;
}

struct Compared {
  Runtime runtime;
  Shape shape;
  PoolEngine resident, resident_in_step;
  layer_swap::StepTimes times{};
  StallFree fixed, fifo, ahead, replayed_fifo;
  std::size_t checked = 0;

  Compared(const Shape& of, double rate)
      : runtime(open_device(rate, 320, 320)),
        shape(of),
        resident(runtime, shape, shape.pool(shape.layers)),
        resident_in_step(runtime, shape, shape.pool(shape.layers)),
        fixed(shape.layers),
        fifo(shape.layers),
        ahead(shape.layers),
        replayed_fifo(shape.layers) {
    resident_in_step.set_in_step();
    fill(resident);
    fill(resident_in_step);
    const Blocks all = first_blocks(shape.frame_blocks());
    const CopySeconds some = measure_copies(runtime, shape, all, last_blocks(shape));
    times = {.compute = std::chrono::duration<double>(shape.layer_time).count(),
             .fetch = some.in,
             .whole_out = measure_copies(runtime, shape, all, all).out,
             .write_back = some.out};
  }
};

nlohmann::json measure_frames(Compared& compared, const Effort& effort, std::uint32_t frames) {
  const LayerPoolOptions options = compared.shape.pool(frames);
  PoolEngine fixed(compared.runtime, compared.shape, options);
  PoolEngine fifo(compared.runtime, compared.shape, with_fifo(options));
  PoolEngine ahead(compared.runtime, compared.shape, with_fifo(options));
  fifo.set_in_step();
  for (Engine* const engine : {&fixed, &fifo, &ahead}) fill(*engine);
  const auto seconds =
      in_turn({&compared.resident, &compared.resident_in_step, &fixed, &fifo, &ahead},
              effort.few_rounds, effort.steps / 2);
  compared.checked += fixed.check() + fifo.check() + ahead.check();
  const auto of_fixed = ratios(seconds[2], seconds[0]);
  const auto of_ahead = ratios(seconds[4], seconds[0]);
  const auto of_in_step = ratios(seconds[3], seconds[1]);
  const double by_replay = replayed("fifo", compared.shape, frames, compared.times);
  compared.fixed.see(frames, median(of_fixed));
  compared.fifo.see(frames, median(of_in_step));
  compared.ahead.see(frames, median(of_ahead));
  compared.replayed_fifo.see(frames, by_replay);
  return {{"frames", frames},
          {"expansion", static_cast<double>(compared.shape.layers) / frames},
          {"resident_step_s", summary(seconds[0])},
          {"resident_in_step_s", summary(seconds[1])},
          {"fixed", summary(of_fixed)},
          {"fifo", summary(ratios(seconds[3], seconds[0]))},
          {"fifo_over_resident_in_step", summary(of_in_step)},
          {"fifo_ahead", summary(of_ahead)},
          {"replayed_fixed", replayed("fixed", compared.shape, frames, compared.times)},
          {"replayed_fifo", by_replay}};
}

void compare_schedules(Report& report, const Effort& effort, double wanted) {
  const Shape shape = twelve_layers(effort.paced(std::chrono::milliseconds(8)));
  const double layer = std::chrono::duration<double>(shape.layer_time).count();
  const double rate = static_cast<double>(shape.frame_bytes()) / (wanted * layer);
  Compared compared(shape, rate);
  const double swap = (compared.times.fetch + compared.times.write_back) / compared.times.compute;
  nlohmann::json by_frames = nlohmann::json::array();
  for (std::uint32_t frames = shape.layers - 1; frames >= layer_swap::kLeastFrames; --frames) {
    by_frames.push_back(measure_frames(compared, effort, frames));
    if (layer_swap::best_ring(shape.layers, frames).sustains < swap) break;
  }
  std::vector<double> waiting;
  for (const auto& row : by_frames) {
    waiting.push_back(row["resident_in_step_s"]["median"].get<double>() /
                      row["resident_step_s"]["median"].get<double>());
  }
  report.add(concat("link of ", decimal(rate / 1e6, 0), " MB/s: stall-free with ",
                    compared.fixed.frames(), " frames by `fixed`, ", compared.fifo.frames(),
                    " by `fifo` (", compared.ahead.frames(), " where its host is ahead, replayed ",
                    compared.replayed_fifo.frames(),
                    "); to wait for each layer: ", decimal(median(waiting)), " of a step"),
             {{"part", "schedules"},
              {"layers", shape.layers},
              {"link_bytes_per_second", rate},
              {"swap_over_compute", compared.times.fetch / compared.times.compute},
              {"swap_s", compared.times.fetch},
              {"whole_out_s", compared.times.whole_out},
              {"write_s", compared.times.write_back},
              {"stall_free_up_to", StallFree::kUpTo},
              {"fixed_frames", compared.fixed.frames()},
              {"fifo_frames", compared.fifo.frames()},
              {"fifo_ahead_frames", compared.ahead.frames()},
              {"replayed_fifo_frames", compared.replayed_fifo.frames()},
              {"resident_in_step_ratio", median(waiting)},
              {"by_frames", by_frames},
              {"checked_bytes",
               compared.checked + compared.resident.check() + compared.resident_in_step.check()}});
}

}  // namespace

void measure_schedules(Report& report, const Effort& effort) {
  for (const double swap : kSwaps) compare_schedules(report, effort, swap);
}

}  // namespace aqua::bench
