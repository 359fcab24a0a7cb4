// SPDX-License-Identifier: Apache-2.0
// Pipeline generates tokens from a context that the device cannot hold: layer by layer, the next
// layer's keys and values are fetched while one is computed with, and the new token's block goes
// back (FlexGen's loop, on AquaTensors: Aqua, sections 7 and 9).
//
//   fetching   | layer 1      | layer 2      | layer 3      | ...   into the buffer that is free
//   computing  | layer 0      | layer 1      | layer 2      | ...
//   storing              | 0  |         | 1  |         | 2  | ...   the block with the new token
//
// The first layer of the next step is fetched during the last of this one. Streams wait for each
// other on the device; the host waits once a step, as an engine does that samples a token.
//
// Threads: the engine's. The runtime outlives it. Errors: throws Failure.
#pragma once

#include <deque>
#include <functional>

#include "attention.hpp"
#include "stored_context.hpp"

namespace aqua::long_context {

enum class RunMode : std::uint8_t {
  overlapped,  // as above
  serial,      // each layer is fetched when the one before is done: no prefetch
  transfer,    // all copies of `overlapped`, nothing is computed
  compute,     // all kernels of `overlapped`, on two layers that stay; nothing is copied
};

class Pipeline {
 public:
  Pipeline(Runtime& runtime, const Shape& shape, unsigned queries);
  ~Pipeline();  // waits for what is under way
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Writes the prompt's keys and values, layer by layer, and offloads them. Waits.
  void prefill();

  // Runs `steps` decode steps, or until `go_on`, asked after each, says no. Waits for all of it.
  // Returns the seconds it took. A step with kernels and copies generates a token.
  double run(RunMode mode, std::uint64_t steps, const std::function<bool()>& go_on);

  void flip_a_byte() { context_.flip_a_byte(storing_); }
  // Of what was fetched, and of what `compute` held.
  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] const Findings& held_findings() const { return held_findings_; }
  [[nodiscard]] const StoredContext& context() const { return context_; }
  [[nodiscard]] std::uint64_t generated_tokens() const { return generated_; }

 private:
  // A layer at some time, and its turn at the buffers.
  struct Place {
    unsigned layer = 0;
    std::uint32_t tokens = 0;
    std::size_t turn = 0;
    [[nodiscard]] std::size_t buffer() const { return turn % LayerBuffers::kCount; }
  };
  [[nodiscard]] Place after(const Place& place, bool grows) const;

  void hold_two_layers();
  void fetch(const Place& place);
  void compute(const Place& place, bool appends);
  void store_block(const Place& place, std::uint32_t block);
  void run_after(Stream stream, Stream earlier);
  void step_through_layers(RunMode mode, Place& place, bool another_step);
  void wait();     // for everything
  void collect();  // what of the copies is over

  Runtime& runtime_;
  const Shape shape_;
  const unsigned queries_;
  LayerBuffers buffers_;
  StoredContext context_;
  Findings findings_, held_findings_;
  Stream fetching_, computing_, storing_;
  std::deque<Ticket> copies_;
  std::uint32_t tokens_;  // that the context holds
  std::uint64_t generated_ = 0;
};

}  // namespace aqua::long_context
