// SPDX-License-Identifier: Apache-2.0
// Engine generates tokens from a context whose keys and values are in a LayerPool: layers that have
// no frame of their own are away, come in before their turn, and the new token's block goes back
// (FlexGen's loop: Aqua, sections 7 and 9).
//
// The host waits once a step, as an engine does that samples a token.
//
// Threads: one. Owns: the pool. The runtime outlives it. Errors: throws Failure.
#pragma once

#include <functional>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "attention.hpp"
#include "shape.hpp"

namespace aqua::long_context {

enum class RunMode : std::uint8_t {
  generate,  // a token in each step
  copies,    // all copies of such a step, nothing is computed
};

class Engine {
 public:
  // With as many layers as frames nothing is away.
  Engine(Runtime& runtime, const Shape& shape, std::uint32_t frames, unsigned queries);
  ~Engine();  // waits for its kernels
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Writes the prompt's keys and values. Waits.
  void prefill();
  // Changes one byte of the first layer, to see that it is noticed. Waits.
  void flip_a_byte();

  // Runs `steps` decode steps, or until `go_on`, asked after each, says no. Waits for their kernels
  // and for what these wrote; first layers for another step may still be coming in. Returns the
  // seconds it took.
  double run(RunMode mode, std::uint64_t steps, const std::function<bool()>& go_on);

  [[nodiscard]] const Findings& findings() const { return findings_; }
  [[nodiscard]] LayerPoolStatus status() const { return pool_.status(); }
  [[nodiscard]] std::uint64_t generated_tokens() const { return generated_; }

 private:
  // A step of the pool, with launch(layer) between each layer's calls. Waits.
  template <typename Launch>
  void step(BlockList reads, BlockList writes, const Launch& launch);
  void generate_token();
  void copy_only();

  [[nodiscard]] BlockList held_blocks() const {
    return BlockList(blocks_).first(blocks_for(tokens_));
  }
  [[nodiscard]] BlockList block_of(std::uint32_t token) const {
    return BlockList(blocks_).subspan(token / kTokensPerBlock, 1);
  }

  Runtime& runtime_;
  const Shape shape_;
  const unsigned queries_;
  LayerPool pool_;
  Stream stream_;
  std::vector<example::CacheGeometry> layers_;  // at addresses that never change
  std::vector<std::uint32_t> blocks_;           // 0, 1, 2, ...: the context's, in order
  Findings findings_;
  std::uint32_t tokens_;  // that the context holds
  std::uint64_t generated_ = 0;
};

}  // namespace aqua::long_context
