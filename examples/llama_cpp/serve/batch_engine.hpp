// SPDX-License-Identifier: Apache-2.0
// BatchEngine: llama.cpp with tokens of several sequences in one llama_decode(), as a scheduler's
// batches want it. All sequences share one KV cache (kv_unified), so that a batch is computed in
// one go whatever its sequences are; engine.hpp's Engine is bitwise repeatable instead.
//
// Threads: one. Errors: every call throws Failure.
#pragma once

#include <vector>

#include "engine.hpp"

namespace aqua::llama_example {

class BatchEngine : public SlotStates {
 public:
  // The cache is gone through in steps of so many cells (llama_kv_cache::get_n_kv()).
  static constexpr unsigned kKvStepTokens = 256;

  // `cache_tokens` in all sequences together, of which there are at most `slots`.
  BatchEngine(const Model& model, unsigned slots, unsigned cache_tokens, unsigned batch_tokens,
              unsigned threads);

  // --- a batch: begin(), add() of each of its sequences, run() ---
  void begin();
  // Appends `tokens` to the sequence in `slot`, the first at position `past`. With `wants` the most
  // likely next token is asked for: its place among the answers of run().
  void add(unsigned slot, unsigned past, std::span<const Token> tokens, bool wants);
  // The next tokens of those who wanted one, in the order added.
  [[nodiscard]] std::vector<Token> run();

 private:
  class Batch {
   public:
    explicit Batch(unsigned tokens)
        : raw(llama_batch_init(static_cast<std::int32_t>(tokens), 0, 1)) {}
    ~Batch() { llama_batch_free(raw); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    llama_batch raw;
  };

  const std::size_t vocabulary_;
  const unsigned most_tokens_;
  Batch batch_;
  std::vector<std::int32_t> wanted_;  // places in the batch
};

}  // namespace aqua::llama_example
