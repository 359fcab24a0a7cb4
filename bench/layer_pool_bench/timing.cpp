// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/timing.hpp"

#include <numeric>

#include "aqua/emulated.hpp"
#include "aqua/stream_mark.hpp"
#include "must.hpp"
#include "samples.hpp"

namespace aqua::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCopies = 9;

// The median time of what `copy` posts to the stream, the first one left out.
template <typename Copy>
double median_seconds(Runtime& runtime, Stream stream, const Copy& copy) {
  StreamMark begin = must(StreamMark::create(runtime), "mark");
  StreamMark end = must(StreamMark::create(runtime), "mark");
  std::vector<double> seconds;
  for (int i = 0; i <= kCopies; ++i) {
    must(begin.set(stream), "mark");
    Ticket ticket = copy();
    must(end.set(stream), "mark");
    must(ticket.wait(), "copy");
    must(emulated::synchronize(runtime, stream), "synchronize");
    const std::chrono::duration<double> took = must(end.since(begin), "mark");
    if (i > 0) seconds.push_back(took.count());
  }
  return median(seconds);
}

}  // namespace

double seconds_per_step(Engine& engine, unsigned steps, const std::function<void()>& post) {
  const std::uint64_t before = engine.posted();
  Clock::time_point begin, end;
  for (unsigned i = 0; i <= kLeadIn + steps; ++i) {
    post();
    if (i == 0) continue;
    engine.wait(before + i);
    if (i == kLeadIn) begin = Clock::now();
    if (i == kLeadIn + steps) end = Clock::now();
  }
  engine.settle();
  return std::chrono::duration<double>(end - begin).count() / steps;
}

Blocks last_blocks(const Shape& shape) {
  const std::uint32_t blocks = shape.frame_blocks();
  return {blocks / 2 - 1, blocks - 1};
}

Blocks first_blocks(std::uint32_t count) {
  Blocks all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

void fill(Engine& engine) {
  engine.post({}, first_blocks(engine.shape().frame_blocks()));
  engine.check();
}

std::vector<std::vector<double>> in_turn(const std::vector<Engine*>& engines, unsigned rounds,
                                         unsigned steps) {
  std::vector<std::vector<double>> seconds(engines.size());
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t e = 0; e < engines.size(); ++e) {
      Engine& engine = *engines[e];
      const Blocks all = first_blocks(engine.shape().frame_blocks());
      const Blocks written = last_blocks(engine.shape());
      seconds[e].push_back(seconds_per_step(engine, steps, [&] { engine.post(all, written); }));
    }
  }
  return seconds;
}

CopySeconds measure_copies(Runtime& runtime, const Shape& shape, const Blocks& fetched,
                           const Blocks& written) {
  const auto memory = must(emulated::allocate(runtime, shape.frame_bytes()), "memory");
  AquaTensor away =
      must(runtime.allocate({.bytes = shape.frame_bytes(), .off_device = true}), "allocate");
  LayoutSpec spec{.layers = 1,
                  .planes_per_layer = shape.planes,
                  .block_count = shape.frame_blocks(),
                  .block_stride = shape.block_bytes,
                  .axes = BlockAxes::whole(shape.block_bytes)};
  for (std::size_t p = 0; p < shape.planes; ++p)
    spec.planes.push_back(memory.data() + p * shape.slabs * kSlabBytes);
  const Layout layout = must(Layout::make(std::move(spec)), "layout");
  const Stream stream = must(emulated::create_stream(runtime), "stream");
  const auto pages = [&](const Blocks& blocks) {
    return TensorPages{shape.frame_blocks(), blocks, 0};
  };
  CopySeconds seconds;
  seconds.in = median_seconds(runtime, stream, [&] {
    return must(runtime.fetch(away, pages(fetched), layout, fetched, stream), "fetch");
  });
  seconds.out = median_seconds(runtime, stream, [&] {
    return must(runtime.offload(layout, written, away, pages(written), stream), "offload");
  });
  must(emulated::destroy_stream(runtime, stream), "destroy stream");
  return seconds;
}

Runtime open_device(double link_bytes_per_second, std::size_t device_mib, std::size_t host_mib) {
  return must(Runtime::open({.device = "emu:0",
                             .coordinator = "none",
                             .host_bytes = host_mib << 20,
                             .emulated = {.total_bytes = device_mib << 20,
                                          .link_bytes_per_second =
                                              static_cast<std::uint64_t>(link_bytes_per_second)}}),
              "open");
}

nlohmann::json summary(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", median(samples)},      {"p25", quantile(samples, 0.25)},
          {"p75", quantile(samples, 0.75)}, {"min", quantile(samples, 0)},
          {"max", quantile(samples, 1)},    {"samples", samples.size()}};
}

}  // namespace aqua::bench
