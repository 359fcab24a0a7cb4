// SPDX-License-Identifier: Apache-2.0
#include "serve/stage.hpp"

#include <unistd.h>

#include <algorithm>

#include "json_lines.hpp"
#include "must.hpp"

namespace aqua::pipeline {
namespace {

using example::must;

KvPlanes kernel_view(KvPlanes planes) {
  planes.keys = emulated::kernel_view(planes.keys);
  planes.values = emulated::kernel_view(planes.values);
  return planes;
}

}  // namespace

Stage::Stage(Runtime& runtime, const Options& options)
    : runtime_(runtime),
      model_(options.model_shape()),
      place_(options.place),
      part_(part_of(model_, place_.shape, place_.stage, place_.rank)),
      cache_(runtime, model_, part_, options.cache_options()),
      stream_(must(emulated::create_stream(runtime), "stream")),
      flip_(options.flip) {}

Stage::~Stage() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

void Stage::keep(const std::vector<Word>& sequences) {
  for (const Word each : cache_.sequences()) {
    if (std::ranges::find(sequences, each) == sequences.end()) cache_.release(each);
  }
}

std::optional<Rewire> Stage::run(Wiring& wiring, Orders& orders) {
  if (!place_.first()) {
    while (std::optional<Step> step = receive_step(wiring.before())) take(*step, wiring);
  } else {
    while (const auto order = orders.next()) {
      if (order->contains("listen")) return order->get<Rewire>();
      Step step = step_of(order->get<Order>());
      take(step, wiring);
    }
  }
  if (!place_.last()) send_end(wiring.behind());
  return {};
}

void Stage::take(Step& step, Wiring& wiring) {
  if (step.head.count > 0) {
    compute(step, wiring);
  } else {
    cache_.release(step.head.sequence);  // nothing is queued: compute() waits for its kernels
  }
  pass_on(step, wiring);
}

void Stage::compute(Step& step, Wiring& wiring) {
  cache_.reserve(step.head.sequence, step.head.end());
  const std::vector<std::uint32_t> blocks = cache_.blocks_of(step.head.sequence);
  for (unsigned i = 0; i < part_.layers.count; ++i)
    compute_layer(part_.layers.first + i, step, blocks, wiring);
}

// The sum over the ranks is made on the host, so that each layer is waited for. An engine adds up
// on its devices, and waits once a step.
void Stage::compute_layer(unsigned layer, Step& step, BlockList blocks, Wiring& wiring) {
  std::vector<Hidden> sums(step.head.count);
  auto kernel = [&, planes = cache_.planes(layer, blocks)] {
    const KvPlanes kv = kernel_view(planes);
    for (std::uint32_t i = 0; i < step.head.count; ++i) {
      write_kv(model_, part_, layer, kv, step.head.first + i, step.hidden[i]);
      sums[i] = attend(model_, part_, layer, kv, step.head.first + i, step.hidden[i]);
    }
  };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
  if (flip_) flip_a_byte(cache_.planes(layer, blocks));
  must(emulated::synchronize(runtime_, stream_), "kernel");
  wiring.add_up(sums);
  for (std::uint32_t i = 0; i < step.head.count; ++i)
    step.hidden[i] = finish_layer(layer, step.hidden[i], sums[i]);
}

void Stage::flip_a_byte(const KvPlanes& planes) {
  flip_ = false;
  auto kernel = [planes] { kernel_view(planes).keys[planes.offset(0, 0)] ^= std::byte{1}; };
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
}

void Stage::pass_on(const Step& step, Wiring& wiring) {
  if (!place_.last()) return send_step(wiring.behind(), step);
  if (place_.rank != 0 || step.head.count == 0) return;
  const std::uint32_t token = sample(step.hidden.back(), step.head.seed, step.head.end() - 1);
  const Sampled sampled{step.head.sequence, step.head.end(), token};
  if (!example::write_line(STDOUT_FILENO, sampled))
    throw example::Failure("the orchestrator hears no more");
}

}  // namespace aqua::pipeline
