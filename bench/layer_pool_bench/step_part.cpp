// SPDX-License-Identifier: Apache-2.0
// Parts `step` and `on_demand`: half of the layers stream, and their copies take 0.9 of what all
// layers compute.
#include "base/concat.hpp"
#include "layer_pool_bench/on_demand.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/timing.hpp"
#include "samples.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::bench {
namespace {

constexpr std::uint32_t kFrames = 14;  // of 24 layers: 12 stream through 2 frames
constexpr double kShare = 0.9;         // of the time that layers compute
constexpr double kLink = 600e6;        // bytes a second

struct Bed {
  Runtime runtime;
  // 64 blocks of 32 KiB in each of two planes.
  Shape shape{.name = "24 layers", .layers = 24, .planes = 2, .block_bytes = 32 << 10};
  std::size_t streamed = layer_swap::best_ring(shape.layers, kFrames).streamed.size();
  CopySeconds copies{};

  explicit Bed(const Effort& effort) : runtime(open_device(effort.paced_rate(kLink), 512, 256)) {
    copies = measure_copies(runtime, shape, first_blocks(shape.frame_blocks()), last_blocks(shape));
    const double layer = static_cast<double>(streamed) * copies.in / (kShare * shape.layers);
    shape.layer_time = std::chrono::nanoseconds(static_cast<long>(1e9 * layer));
  }
};

// A row of the report, for the layers as they were timed: `resident` seconds a step.
nlohmann::json row_of(const char* part, const Bed& bed, const std::vector<double>& resident,
                      const std::vector<double>& streaming) {
  const double copies = static_cast<double>(bed.streamed) * bed.copies.in;
  return {{"part", part},
          {"layers", bed.shape.layers},
          {"frames", kFrames},
          {"streamed_layers", bed.streamed},
          {"layer_bytes", bed.shape.frame_bytes()},
          {"swap_s", bed.copies.in},
          {"write_s", bed.copies.out},
          {"copies_over_compute", copies / median(resident)},
          {"resident_step_s", summary(resident)},
          {"step_s", summary(streaming)},
          {"ratio", summary(ratios(streaming, resident))}};
}

std::string line_of(const nlohmann::json& row, const char* what) {
  return concat(what, ": ", spread_of(row["ratio"]), " of all-resident, copies ",
                decimal(row["copies_over_compute"]), " of compute");
}

}  // namespace

void measure_step(Report& report, const Effort& effort) {
  Bed bed(effort);
  PoolEngine resident(bed.runtime, bed.shape, bed.shape.pool(bed.shape.layers));
  PoolEngine pool(bed.runtime, bed.shape, bed.shape.pool(kFrames));
  fill(resident);
  fill(pool);
  const LayerPoolStatus before = pool.pool().status();
  const double called = pool.calls_seconds();
  const std::uint64_t posted = pool.posted();
  const auto seconds = in_turn({&resident, &pool}, effort.rounds, effort.steps);
  const LayerPoolStatus after = pool.pool().status();
  auto row = row_of("step", bed, seconds[0], seconds[1]);
  const std::uint64_t fetched = after.fetched_bytes - before.fetched_bytes;
  const std::uint64_t written = after.written_bytes - before.written_bytes;
  row["fetched_bytes"] = fetched;
  row["written_bytes"] = written;
  row["written_over_fetched"] = static_cast<double>(written) / static_cast<double>(fetched);
  row["host_us_per_streamed_layer"] = host_us_per_streamed_layer(
      pool.calls_seconds() - called, static_cast<double>(pool.posted() - posted), bed.streamed);
  row["checked_bytes"] = resident.check() + pool.check();
  report.add(concat(line_of(row, "prefetched"), ", ", decimal(row["host_us_per_streamed_layer"], 1),
                    " us of the host for a streamed layer"),
             row);
}

void measure_on_demand(Report& report, const Effort& effort) {
  Bed bed(effort);
  PoolEngine resident(bed.runtime, bed.shape, bed.shape.pool(bed.shape.layers));
  OnDemandEngine on_demand(bed.runtime, bed.shape, kFrames);
  fill(resident);
  fill(on_demand);
  const auto seconds = in_turn({&resident, &on_demand}, effort.few_rounds, effort.steps);
  auto row = row_of("on_demand", bed, seconds[0], seconds[1]);
  row["checked_bytes"] = resident.check() + on_demand.check();
  report.add(line_of(row, "on demand"), row);
}

}  // namespace aqua::bench
