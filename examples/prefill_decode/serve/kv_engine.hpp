// SPDX-License-Identifier: Apache-2.0
// KvEngine is what a phase wants of an engine: it computes tokens of several sequences at once, and
// has each one's KV in blocks of a pool when that changes process.
//
// Threads: one. Errors: Failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/layout.hpp"
#include "engine.hpp"

namespace aqua::prefill_decode {

using llama_example::Prediction;
using llama_example::Token;

class KvEngine {
 public:
  // Tokens of one sequence to compute, the first of them at `first`.
  struct Part {
    std::uint64_t sequence = 0;
    BlockList blocks{};  // of the sequence, those of these tokens among them
    std::span<const Token> tokens{};
    std::uint32_t first = 0;
    bool wanted = false;  // what comes next
  };

  KvEngine() = default;
  KvEngine(const KvEngine&) = delete;
  KvEngine& operator=(const KvEngine&) = delete;
  virtual ~KvEngine() = default;

  // Answers what comes next, in the order of those who want it.
  [[nodiscard]] virtual std::vector<Prediction> compute(std::span<const Part> parts) = 0;

  // Puts a sequence's KV into its blocks, where it stays. Answers how many bytes of it that
  // copied.
  [[nodiscard]] virtual std::size_t put(std::uint64_t sequence, BlockList blocks) = 0;
  // Begins a sequence with what put() has left in its blocks, of so many tokens. Answers likewise.
  [[nodiscard]] virtual std::size_t get(std::uint64_t sequence, BlockList blocks,
                                        std::uint32_t tokens) = 0;
  // The sequence is not this engine's any more. Its blocks are left as they are.
  virtual void drop(std::uint64_t sequence) = 0;
};

}  // namespace aqua::prefill_decode
