// SPDX-License-Identifier: Apache-2.0
#include "pipeline.hpp"

#include <chrono>

#include "must.hpp"

namespace aqua::long_context {

using example::must;

Pipeline::Pipeline(Runtime& runtime, const Shape& shape, unsigned queries)
    : runtime_(runtime),
      shape_(shape),
      queries_(queries),
      buffers_(runtime, shape),
      context_(runtime, shape),
      fetching_(must(emulated::create_stream(runtime), "stream")),
      computing_(must(emulated::create_stream(runtime), "stream")),
      storing_(must(emulated::create_stream(runtime), "stream")),
      tokens_(shape.prompt_tokens) {}

Pipeline::~Pipeline() {
  for (const Stream stream : {fetching_, computing_, storing_}) {
    (void)emulated::synchronize(runtime_, stream);  // all of them first: they wait for each other
  }
  for (const Stream stream : {fetching_, computing_, storing_}) {
    (void)emulated::destroy_stream(runtime_, stream);
  }
}

void Pipeline::prefill() {
  for (unsigned layer = 0; layer < shape_.layers; ++layer) {
    const std::size_t buffer = layer % LayerBuffers::kCount;
    const BlockList blocks = buffers_.blocks(blocks_for(shape_.prompt_tokens));
    run_after(computing_, storing_);
    launch_prefill(runtime_, computing_, buffers_.geometry(buffer), blocks, layer,
                   shape_.prompt_tokens);
    run_after(storing_, computing_);
    copies_.push_back(context_.store(layer, buffers_, buffer, blocks, storing_));
  }
  wait();
}

double Pipeline::run(RunMode mode, std::uint64_t steps, const std::function<bool()>& go_on) {
  using Clock = std::chrono::steady_clock;
  if (mode == RunMode::compute) hold_two_layers();
  Place place{.tokens = tokens_};
  const auto start = Clock::now();
  if (mode == RunMode::overlapped || mode == RunMode::transfer) fetch(place);
  for (std::uint64_t step = 0; step < steps; ++step) {
    step_through_layers(mode, place, step + 1 < steps);
    if (mode == RunMode::overlapped || mode == RunMode::serial) {
      tokens_ = place.tokens;
      ++generated_;
    }
    // The token is sampled. Where nothing is computed nobody waits, and the link is always busy.
    if (mode != RunMode::transfer) must(emulated::synchronize(runtime_, computing_), "compute");
    collect();
    if (!go_on()) break;
  }
  wait();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What is waited for is what a stream was given before the next thing is posted to it: so the order
// of the lines is what makes it a pipeline.
void Pipeline::step_through_layers(RunMode mode, Place& place, bool another_step) {
  const bool computes = mode != RunMode::transfer, copies = mode != RunMode::compute;
  for (unsigned layer = 0; layer < shape_.layers; ++layer) {
    const Place next = after(place, computes && copies);
    if (mode == RunMode::serial) {
      run_after(fetching_, storing_);
      fetch(place);
    }
    if (copies) run_after(computes ? computing_ : storing_, fetching_);
    if ((mode == RunMode::overlapped || mode == RunMode::transfer) &&
        (another_step || layer + 1 < shape_.layers)) {
      run_after(fetching_, computing_);  // the layer before, whose buffer it was
      run_after(fetching_, storing_);
      fetch(next);
    }
    if (computes) compute(place, copies);
    if (computes && copies) run_after(storing_, computing_);
    if (copies) store_block(place, (computes ? place.tokens : place.tokens - 1) / kTokensPerBlock);
    place = next;
  }
}

Pipeline::Place Pipeline::after(const Place& place, bool grows) const {
  Place next{place.layer + 1, place.tokens, place.turn + 1};
  if (next.layer < shape_.layers) return next;
  next.layer = 0;
  if (grows) ++next.tokens;
  if (next.tokens == shape_.prompt_tokens + shape_.output_tokens)
    next.tokens = shape_.prompt_tokens;
  return next;
}

void Pipeline::hold_two_layers() {
  for (unsigned layer = 0; layer < LayerBuffers::kCount; ++layer) {
    fetch({.layer = layer, .tokens = tokens_, .turn = layer});
  }
  wait();
}

void Pipeline::fetch(const Place& place) {
  copies_.push_back(
      context_.fetch(place.layer, buffers_, place.buffer(), blocks_for(place.tokens), fetching_));
}

// Without copies the buffers hold the first layers, which stand for all others.
void Pipeline::compute(const Place& place, bool appends) {
  const auto held = static_cast<unsigned>(place.buffer());
  launch_attention(runtime_, computing_, buffers_.geometry(place.buffer()),
                   buffers_.blocks(shape_.capacity_blocks()),
                   {.layer = appends ? place.layer : held,
                    .tokens = place.tokens,
                    .queries = queries_,
                    .appends = appends},
                   appends ? findings_ : held_findings_);
}

void Pipeline::store_block(const Place& place, std::uint32_t block) {
  copies_.push_back(
      context_.store(place.layer, buffers_, place.buffer(), buffers_.block(block), storing_));
}

void Pipeline::run_after(Stream stream, Stream earlier) {
  must(emulated::run_after(runtime_, stream, earlier), "run_after");
}

void Pipeline::wait() {
  for (const Stream stream : {fetching_, computing_, storing_}) {
    must(emulated::synchronize(runtime_, stream), "synchronize");
  }
  for (Ticket& copy : copies_) must(copy.wait(), "a copy");
  copies_.clear();
}

void Pipeline::collect() {
  while (!copies_.empty() && must(copies_.front().done(), "a copy")) copies_.pop_front();
}

}  // namespace aqua::long_context
