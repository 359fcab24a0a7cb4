// SPDX-License-Identifier: Apache-2.0
// Part `memory`: a pool with that goal beside one whose layers are all resident, while another
// process has stamped bytes in all that the pool's frames have left.
#include <algorithm>
#include <thread>

#include "base/concat.hpp"
#include "layer_pool_bench/parts.hpp"
#include "layer_pool_bench/timing.hpp"
#include "must.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr double kSwap = 1.5;  // of a layer, over what it computes
constexpr auto kLendingTakes = std::chrono::seconds(20);

// An engine whose two sequences fill its pool.
class Sparing {
 public:
  Sparing(Runtime& runtime, const Shape& shape)
      : engine_(runtime, shape, options_of(shape)),
        blocks_(must(layer_swap::BlockPool::create(shape.layers, shape.frame_blocks()), "blocks")),
        all_(must(blocks_.allocate(1, shape.frame_blocks()), "allocate")) {
    engine_.post({}, all_, load_);
  }
  void step() {
    engine_.post(all_, last_blocks(engine_.shape()), load_);
    const std::uint32_t before = frames();
    (void)must(engine_.pool().adapt(blocks_, engine_.stream()), "adapt");
    if (frames() != before) changed_at_ = engine_.posted();
  }
  void settle(const Effort& effort) {
    const auto settled = [&] {
      return changed_at_ > 0 && engine_.posted() >= changed_at_ + effort.quiet;
    };
    while (!settled() && engine_.posted() < effort.most_settling) {
      step();
      engine_.wait(engine_.posted() - 1);
    }
    engine_.settle();
  }
  [[nodiscard]] std::uint32_t frames() { return engine_.pool().status().frames; }
  [[nodiscard]] PoolEngine& engine() { return engine_; }

 private:
  static LayerPoolOptions options_of(const Shape& shape) {
    LayerPoolOptions options = shape.pool(shape.layers);
    options.goal = "memory";
    return options;
  }
  PoolEngine engine_;
  layer_swap::BlockPool blocks_;
  const Blocks all_;
  const StepLoad load_{.blocks_used = static_cast<std::uint32_t>(all_.size()),
                       .blocks_wanted = static_cast<std::uint32_t>(all_.size())};
  std::uint64_t changed_at_ = 0;
};

Runtime open_lender(const Coordinator& coordinator, double link_bytes_per_second) {
  return must(Runtime::open({.device = "emu:0",
                             .coordinator = coordinator.address(),
                             .name = "engine",
                             .host_bytes = std::size_t{256} << 20,
                             .socket_directory = coordinator.directory(),
                             .curve_directory = "off",
                             .emulated = {.total_bytes = std::size_t{256} << 20,
                                          .link_bytes_per_second =
                                              static_cast<std::uint64_t>(link_bytes_per_second)}}),
              "open engine");
}

// Bytes of another process's tensors in what the pool lends, which is all that its frames have left
// once it is offered.
std::size_t lend_to(BorrowerProcess& borrower, Runtime& runtime, std::size_t bytes) {
  const auto deadline = std::chrono::steady_clock::now() + kLendingTakes;
  while (runtime.status().lent_bytes < bytes && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::size_t lent = std::min(bytes, runtime.status().lent_bytes);
  return lent > 0 ? borrower.borrow(lent) : 0;
}

}  // namespace

void measure_memory(Report& report, const Effort& effort, const Coordinator& coordinator,
                    BorrowerProcess& borrower) {
  Shape shape{.name = "24 layers", .layers = 24, .planes = 2, .block_bytes = 32 << 10};
  shape.layer_time = effort.paced(std::chrono::milliseconds(4));
  const double layer = std::chrono::duration<double>(shape.layer_time).count();
  const double rate = static_cast<double>(shape.frame_bytes()) / (kSwap * layer);
  Runtime alone = open_device(0, 256, 64);
  PoolEngine resident(alone, shape, shape.pool(shape.layers));
  fill(resident);
  Runtime runtime = open_lender(coordinator, rate);
  Sparing sparing(runtime, shape);
  sparing.settle(effort);

  const std::uint32_t frames = sparing.frames();
  const std::size_t whole = shape.layers * shape.frame_bytes();
  const std::size_t left = whole - frames * shape.frame_bytes();
  const std::size_t borrowed = lend_to(borrower, runtime, left);
  const std::size_t held = runtime.status().held_bytes;
  std::vector<double> alone_s, sparing_s;
  const Blocks all = first_blocks(shape.frame_blocks());
  const Blocks written = last_blocks(shape);
  for (unsigned round = 0; round < effort.rounds; ++round) {
    alone_s.push_back(
        seconds_per_step(resident, effort.steps, [&] { resident.post(all, written); }));
    sparing_s.push_back(seconds_per_step(sparing.engine(), effort.steps, [&] { sparing.step(); }));
  }
  // What is there of the borrower's bytes after it all, unchanged.
  const std::size_t lasting = borrowed > 0 ? borrower.check() : 0;
  const auto throughput = summary(ratios(alone_s, sparing_s));
  nlohmann::json row{{"part", "memory"},
                     {"layers", shape.layers},
                     {"frames", frames},
                     {"frames_at_the_end", sparing.frames()},
                     {"throughput", throughput},
                     {"resident_step_s", summary(alone_s)},
                     {"step_s", summary(sparing_s)},
                     {"resident_bytes", whole},
                     {"held_by_another_process_bytes", held},
                     {"borrowed_bytes", borrowed},
                     {"borrowed_bytes_unchanged", lasting},
                     {"checked_bytes", resident.check() + sparing.engine().check()}};
  const std::size_t given = std::min({held, borrowed, lasting});
  const double fewer = static_cast<double>(whole) / static_cast<double>(whole - given);
  row["bytes_ratio"] = fewer;
  report.add(concat("throughput ", spread_of(throughput), " of all-resident in ", decimal(fewer, 2),
                    " times fewer bytes (", frames, " frames); ", given >> 20U,
                    " MiB held by another process"),
             row);
}

}  // namespace aqua::bench
