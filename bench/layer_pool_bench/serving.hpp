// SPDX-License-Identifier: Apache-2.0
// Serving is an engine under more load than its pool holds: sequences of one length, of which one
// more comes every few steps while there are blocks for it, each computing a token in every step.
// A step reads all blocks of all sequences and writes the last block of each. Sequences never end;
// those that a change of frames preempts wait to come again.
//
// Threads: one. Must be gone before the runtime.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "aqua/layer_swap/block_pool.hpp"
#include "layer_pool_bench/engine.hpp"

namespace aqua::bench {

struct ServingOptions {
  Shape shape{};
  std::uint32_t frames = 0;  // fixed; 0: every layer has one at first, and `goal` chooses
  std::string goal{};
  std::uint32_t sequence_blocks = 16;
  unsigned arrival_steps = 0;  // from one sequence to the next; 0: all come at once
};

// What some steps in a row computed, and how long they took.
struct Batch {
  std::uint64_t tokens = 0;
  double seconds = 0;
  [[nodiscard]] double rate() const { return static_cast<double>(tokens) / seconds; }
};

class Serving {
 public:
  Serving(Runtime& runtime, const ServingOptions& options);
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  // Posts one step, and lets the pool change its frames behind it. Answers the step's tokens.
  std::uint32_t step();
  // Steps until the pool is full, and the frames have been the same for `quiet` steps; or `most`.
  void settle(unsigned quiet, unsigned most);
  // Runs a batch of so many steps that count (timing.hpp).
  [[nodiscard]] Batch batch(unsigned steps);

  [[nodiscard]] PoolEngine& engine() { return *engine_; }
  [[nodiscard]] LayerPoolStatus status() { return engine_->pool().status(); }
  [[nodiscard]] std::uint32_t running() const {
    return static_cast<std::uint32_t>(sequences_.size());
  }
  [[nodiscard]] std::uint32_t used() const { return running() * options_.sequence_blocks; }
  // The step before which the frames changed last.
  [[nodiscard]] std::optional<std::uint64_t> changed_at() const { return changed_at_; }
  // The first step for which a sequence found no room.
  [[nodiscard]] std::optional<std::uint64_t> filled_at() const { return filled_at_; }

 private:
  void follow(const LayerPoolResize& news);
  void admit(Blocks& fresh);

  const ServingOptions options_;
  std::optional<PoolEngine> engine_;
  std::optional<layer_swap::BlockPool> blocks_;
  std::map<layer_swap::SequenceId, Blocks> sequences_;
  layer_swap::SequenceId next_ = 1;
  std::uint32_t wanted_ = 0;  // blocks; more than any number of frames holds
  std::optional<std::uint64_t> changed_at_, filled_at_;
};

}  // namespace aqua::bench
