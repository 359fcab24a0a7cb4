// SPDX-License-Identifier: Apache-2.0
#include "gpu_layer_pool_bench/parts.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "layer_pool_bench/timing.hpp"
#include "samples.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::bench {
namespace {

constexpr double kShare = 0.9;  // of the time that layers compute, for copies

std::size_t streamed_with(const Bed& bed, std::uint32_t frames) {
  if (frames == bed.shape.layers) return 0;
  return layer_swap::best_ring(bed.shape.layers, frames).streamed.size();
}

// The shape with kernels that spin so long that the copies of `streamed` layers take kShare of a
// step. What comparing and stamping take is known from steps that do not spin.
Shape calibrated(Bed& bed, std::size_t streamed, double swap) {
  double busy = 0;
  {
    SwapEngine resident(*bed.runtime, *bed.work, bed.shape, bed.shape.layers);
    resident.fill();
    busy = resident.time_steps(bed.steps).device;
  }
  Shape shape = bed.shape;
  const double step = static_cast<double>(streamed) * swap / kShare;
  const double spin = std::max(0.0, step - busy) / shape.layers;
  shape.layer_time = std::chrono::nanoseconds(static_cast<long>(1e9 * spin));
  return shape;
}

}  // namespace

void measure_graphs(Report& report, Bed& bed) {
  SwapEngine engine(*bed.runtime, *bed.work, bed.shape, kFrames);
  engine.capture_layers();
  engine.fill();
  std::size_t checked = 0;
  std::vector<std::uint32_t> tried;
  for (unsigned round = 0; round < bed.rounds; ++round) {
    for (const std::uint32_t frames : {kFrames - 4, kFrames - 7, kFrames - 2, kFrames}) {
      engine.resize(frames);
      for (unsigned step = 0; step < bed.steps; ++step)
        engine.post({step % engine.blocks(), (step + 7) % engine.blocks()});
      checked += engine.check();  // a wrong byte ends the program
      if (round == 0) tried.push_back(frames);
    }
  }
  report.add(concat("each layer's kernels in a graph, replayed over ", tried.size() * bed.rounds,
                    " changes of frames; ", checked >> 20U, " MiB compared, none wrong"),
             {{"part", "graphs"},
              {"layers", bed.shape.layers},
              {"frames", tried},
              {"replayed_steps", tried.size() * bed.rounds * (bed.steps + 1)},
              {"wrong_words", 0},
              {"checked_bytes", checked}});
}

void measure_step(Report& report, Bed& bed) {
  const double swap = seconds_of_swap(bed);
  const std::size_t streamed = streamed_with(bed, kFrames);
  const Shape shape = calibrated(bed, streamed, swap);
  SwapEngine resident(*bed.runtime, *bed.work, shape, shape.layers);
  SwapEngine pool(*bed.runtime, *bed.work, shape, kFrames);
  resident.fill();
  pool.fill();
  const LayerPoolStatus before = pool.pool().status();
  std::vector<double> all, some, calls;
  for (unsigned round = 0; round < bed.rounds; ++round) {
    all.push_back(resident.time_steps(bed.steps).device);
    const auto took = pool.time_steps(bed.steps);
    some.push_back(took.device);
    calls.push_back(took.calls);
  }
  const LayerPoolStatus after = pool.pool().status();
  const auto fetched = static_cast<double>(after.fetched_bytes - before.fetched_bytes);
  const auto written = static_cast<double>(after.written_bytes - before.written_bytes);
  const auto ratio = summary(ratios(some, all));
  const double copies = static_cast<double>(streamed) * swap / median(all);
  report.add(
      concat("prefetched: ", spread_of(ratio), " of all-resident, copies ", decimal(copies),
             " of compute"),
      {{"part", "step"},
       {"layers", shape.layers},
       {"frames", kFrames},
       {"streamed_layers", streamed},
       {"layer_bytes", shape.frame_bytes()},
       {"swap_s", swap},
       {"spin_s", std::chrono::duration<double>(shape.layer_time).count()},
       {"copies_over_compute", copies},
       {"resident_step_s", summary(all)},
       {"step_s", summary(some)},
       {"ratio", ratio},
       {"written_over_fetched", written / fetched},
       {"host_us_per_streamed_layer", host_us_per_streamed_layer(median(calls), 1, streamed)},
       {"checked_bytes", resident.check() + pool.check()}});
}

void measure_resize(Report& report, Bed& bed) {
  const double swap = seconds_of_swap(bed);
  SwapEngine engine(*bed.runtime, *bed.work, bed.shape, kFrames);
  engine.fill();
  std::size_t checked = 0;
  for (const std::uint32_t other : {kFrames - 1, kFrames - 4, kFrames - 7}) {
    for (const bool grows : {false, true}) {
      const std::uint32_t from = grows ? other : kFrames, to = grows ? kFrames : other;
      std::vector<double> pauses;
      for (unsigned round = 0; round < bed.rounds; ++round) {
        engine.resize(from);
        checked += engine.check();
        const double begin = now();
        engine.resize(to);
        pauses.push_back(now() - begin);
        checked += engine.check();
      }
      const std::size_t before = streamed_with(bed, from), after = streamed_with(bed, to);
      const auto pause = summary(pauses);
      report.add(concat(from, " to ", to, " frames: ", decimal(1e3 * pause["median"].get<double>()),
                        " ms"),
                 {{"part", "resize"},
                  {"from_frames", from},
                  {"to_frames", to},
                  {"streamed_before", before},
                  {"streamed_after", after},
                  {"pause_s", pause},
                  {"swap_s", swap}});  // that each layer which changes sides is copied for
    }
  }
  report.add(concat(checked >> 20U, " MiB compared between changes of frames, none wrong"),
             {{"part", "resized"}, {"checked_bytes", checked}});
}

void measure_marks(Report& report, Bed& bed) {
  SwapEngine plain(*bed.runtime, *bed.work, bed.shape, kFrames);
  SwapEngine measured(*bed.runtime, *bed.work, bed.shape, kFrames, "capacity");
  measured.resize(kFrames);
  plain.fill();
  measured.fill();
  std::vector<double> plain_s, measured_s, plain_calls, measured_calls;
  for (unsigned round = 0; round < bed.rounds; ++round) {
    const auto without = plain.time_steps(bed.steps), with = measured.time_steps(bed.steps);
    plain_s.push_back(without.device);
    measured_s.push_back(with.device);
    plain_calls.push_back(without.calls);
    measured_calls.push_back(with.calls);
    (void)measured.pool().propose();  // the marks are looked at, as between an engine's steps
  }
  const auto streamed = static_cast<double>(streamed_with(bed, kFrames));
  const auto ratio = summary(ratios(measured_s, plain_s));
  report.add(
      concat("a step with marks: ", spread_of(ratio), " of one without; the pool's calls take ",
             decimal(1e6 * median(measured_calls) / streamed, 1),
             " us of the host for a streamed layer, ",
             decimal(1e6 * median(plain_calls) / streamed, 1), " without"),
      {{"part", "marks"},
       {"streamed_layers", streamed},
       {"plain_step_s", summary(plain_s)},
       {"marked_step_s", summary(measured_s)},
       {"ratio", ratio},
       {"plain_calls_s", summary(plain_calls)},
       {"marked_calls_s", summary(measured_calls)}});
}

}  // namespace aqua::bench
