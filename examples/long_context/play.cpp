// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <cstdio>

#include "measure.hpp"
#include "must.hpp"
#include "neighbours.hpp"
#include "reclaim_scene.hpp"
#include "report.hpp"
#include "verdict.hpp"

namespace aqua::long_context {
namespace {

RuntimeOptions borrower(const Options& options) {
  const Shape shape = options.shape();
  RuntimeOptions wanted;
  wanted.name = "long context";
  // An exit for every layer; an eighth more for what lies between them.
  const std::size_t tensors = shape.layers * shape.frame_bytes();
  wanted.host_bytes = example::whole_slabs(tensors + tensors / 8);
  wanted.emulated.total_bytes = options.device_bytes();
  wanted.emulated.link_bytes_per_second = std::uint64_t{options.link_mb_per_s} * 1'000'000;
  return wanted;
}

// A device with room for all layers, which nothing leaves.
Runtime open_roomy(const Options& options) {
  const Shape shape = options.shape();
  return example::must(
      Runtime::open({.device = "emu:2",
                     .coordinator = "none",
                     .name = "all resident",
                     .host_bytes = kSlabBytes,
                     .emulated = {.total_bytes = shape.layers * shape.frame_bytes()}}),
      "open");
}

void introduce(const Options& options, const example::Neighbours& neighbours,
               const LayerPoolStatus& pool) {
  std::printf("context   %u tokens, %u layers: %zu MiB on a device of %zu MiB\n",
              options.prompt_tokens, options.layers, options.shape().kv_bytes() >> 20,
              options.device_bytes() >> 20);
  std::printf("frames    %u; %u layers stream, %zu MiB are away\n", pool.frames,
              pool.streamed_layers, pool.away_bytes >> 20);
  std::printf("lender    process %d lends %zu MiB\n", static_cast<int>(neighbours.lender_pid()),
              neighbours.lent_bytes() >> 20);
  std::fflush(stdout);
}

}  // namespace

int run_engine(const Options& options) {
  if (!options.json.empty()) example::write_json(options.json, nlohmann::json::object());
  const example::StopSignals stop;  // before any thread
  const Shape shape = options.shape();
  const std::size_t lent = shape.layers * shape.frame_bytes() / 100 * options.lent_percent;
  example::Neighbours neighbours(options.role.coordinator, lent, borrower(options));
  Runtime roomy = open_roomy(options);
  Engine engine(neighbours.runtime(), shape, options.frames(), options.queries);
  Engine resident(roomy, shape, shape.layers, options.queries);
  introduce(options, neighbours, engine.status());

  engine.prefill();
  resident.prefill();
  if (options.flip) engine.flip_a_byte();
  RunRecord record{.options = options};
  record.times = measure(engine, resident, options.steps, options.rounds, stop);
  record.measured = engine.status();
  record.same_digest = engine.findings().digest == resident.findings().digest;
  if (options.reclaim) record.reclaim = show_reclaim(engine, neighbours, options.steps, stop);
  record.lost_tensors = neighbours.runtime().status().lost_tensors;

  const nlohmann::json report = to_json(record, engine, resident);
  print_summary(report);
  if (!options.json.empty()) example::write_json(options.json, report);
  return example::verdict(complaints(report));
}

}  // namespace aqua::long_context
