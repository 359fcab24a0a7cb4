// SPDX-License-Identifier: Apache-2.0
// Part `links`: the least frames without stalls, measured, against the least F with
// (layers - F + 2) * swap <= layers * compute, both times measured as well.
#include <algorithm>

#include "base/concat.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/timing.hpp"
#include "samples.hpp"
#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::bench {
namespace {

using layer_swap::kLeastFrames;

// The least frames that a link which always carries something bears, with a second one to compute
// on.
std::uint32_t reckoned(std::uint32_t layers, double swap_over_compute) {
  std::uint32_t frames = kLeastFrames;
  while (frames < layers && (layers - frames + 2) * swap_over_compute > layers) ++frames;
  return frames;
}

// The least that the layers' own ring bears.
std::uint32_t planned(std::uint32_t layers, double swap_over_compute) {
  std::uint32_t frames = kLeastFrames;
  while (frames < layers && layer_swap::best_ring(layers, frames).sustains < swap_over_compute)
    ++frames;
  return frames;
}

void measure_link(Report& report, const Effort& effort, double wanted) {
  const Shape shape = twelve_layers(effort.paced(std::chrono::milliseconds(4)));
  const double layer = std::chrono::duration<double>(shape.layer_time).count();
  const double rate = static_cast<double>(shape.frame_bytes()) / (wanted * layer);
  Runtime runtime = open_device(rate, 256, 256);
  const CopySeconds copies =
      measure_copies(runtime, shape, first_blocks(shape.frame_blocks()), last_blocks(shape));
  PoolEngine resident(runtime, shape, shape.pool(shape.layers));
  fill(resident);
  const double step = median(in_turn({&resident}, effort.few_rounds, effort.steps)[0]);
  const double swap = copies.in * shape.layers / step;
  const std::uint32_t expected = reckoned(shape.layers, swap);

  nlohmann::json by_frames = nlohmann::json::array();
  StallFree least(shape.layers);
  std::size_t checked = 0;
  const std::uint32_t most = std::min(expected + 1, shape.layers - 1);
  const std::uint32_t fewest = std::max(expected, kLeastFrames + 2) - 2;
  for (std::uint32_t frames = most; frames >= fewest; --frames) {
    PoolEngine pool(runtime, shape, shape.pool(frames));
    fill(pool);
    const auto seconds = in_turn({&resident, &pool}, effort.few_rounds, effort.steps);
    const auto over = ratios(seconds[1], seconds[0]);
    checked += pool.check();
    const bool free = least.see(frames, median(over));
    by_frames.push_back({{"frames", frames},
                         {"sustains", layer_swap::best_ring(shape.layers, frames).sustains},
                         {"ratio", summary(over)},
                         {"stall_free", free}});
  }
  const double expansion = static_cast<double>(shape.layers) / least.frames();
  report.add(concat("link of ", decimal(rate / 1e6, 0), " MB/s, a swap as long as ",
                    decimal(swap, 2), " layers compute: stall-free with ", least.frames(),
                    " frames (expansion ", decimal(expansion, 2), "), reckoned ", expected),
             {{"part", "links"},
              {"layers", shape.layers},
              {"link_bytes_per_second", rate},
              {"swap_over_compute", swap},
              {"swap_s", copies.in},
              {"write_s", copies.out},
              {"resident_step_s", step},
              {"stall_free_up_to", StallFree::kUpTo},
              {"reckoned_frames", expected},
              {"planned_frames", planned(shape.layers, swap)},
              {"measured_frames", least.frames()},
              {"expansion", expansion},
              {"by_frames", by_frames},
              {"checked_bytes", checked + resident.check()}});
}

}  // namespace

void measure_links(Report& report, const Effort& effort) {
  for (const double swap : kSwaps) measure_link(report, effort, swap);
}

}  // namespace aqua::bench
