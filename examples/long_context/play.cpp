// SPDX-License-Identifier: Apache-2.0
#include "play.hpp"

#include <cstdio>

#include "measure.hpp"
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
  const std::size_t tensors = shape.layers * shape.layer_bytes();
  wanted.host_bytes = example::whole_slabs(tensors + tensors / 8);
  wanted.emulated.total_bytes = options.device_bytes();
  wanted.emulated.link_bytes_per_second = std::uint64_t{options.link_mb_per_s} * 1'000'000;
  return wanted;
}

void introduce(const Options& options, const example::Neighbours& neighbours) {
  std::printf("context   %u tokens, %u layers: %zu MiB on a device of %zu MiB\n",
              options.prompt_tokens, options.layers, options.shape().kv_bytes() >> 20,
              options.device_bytes() >> 20);
  std::printf("lender    process %d lends %zu MiB\n", static_cast<int>(neighbours.lender_pid()),
              neighbours.lent_bytes() >> 20);
  std::fflush(stdout);
}

}  // namespace

int run_engine(const Options& options) {
  if (!options.json.empty()) example::write_json(options.json, nlohmann::json::object());
  const example::StopSignals stop;  // before any thread
  const Shape shape = options.shape();
  const std::size_t lent = shape.layers * shape.layer_bytes() / 100 * options.lent_percent;
  example::Neighbours neighbours(options.role.coordinator, lent, borrower(options));
  introduce(options, neighbours);

  Pipeline pipeline(neighbours.runtime(), shape, options.queries);
  pipeline.prefill();
  if (options.flip) pipeline.flip_a_byte();
  RunRecord record{.options = options};
  record.times = measure(pipeline, options.steps, options.rounds, stop);
  if (options.reclaim) record.reclaim = show_reclaim(pipeline, neighbours, options.steps, stop);
  record.lost_tensors = neighbours.runtime().status().lost_tensors;

  const nlohmann::json report = to_json(record, pipeline);
  print_summary(report);
  if (!options.json.empty()) example::write_json(options.json, report);
  return example::verdict(complaints(report));
}

}  // namespace aqua::long_context
