// SPDX-License-Identifier: Apache-2.0
// LlamaCppEngine is llama.cpp, whose KV cache is its own: what a sequence has in there is copied to
// the pool's blocks when it leaves, and from them when it comes.
#pragma once

#include <map>

#include "engine.hpp"
#include "model/llama_shape.hpp"
#include "serve/kv_engine.hpp"

namespace aqua::prefill_decode {

class LlamaCppEngine final : public KvEngine {
 public:
  // `blocks` outlives this. So many sequences at once, each of so many tokens at most.
  LlamaCppEngine(llama_example::Model model, const Layout& blocks, unsigned sequences,
                 unsigned tokens, unsigned threads);

  [[nodiscard]] std::vector<Prediction> compute(std::span<const Part> parts) override;
  [[nodiscard]] std::size_t put(std::uint64_t sequence, BlockList blocks) override;
  [[nodiscard]] std::size_t get(std::uint64_t sequence, BlockList blocks,
                                std::uint32_t tokens) override;
  void drop(std::uint64_t sequence) override;

  // A pool whose blocks have room for what llama.cpp writes of so many tokens.
  [[nodiscard]] static KvPoolShape state_shape(const LlamaShape& shape, std::uint32_t blocks);

 private:
  [[nodiscard]] unsigned slot_of(std::uint64_t sequence);

  llama_example::Model model_;
  llama_example::Engine engine_;
  const Layout& blocks_;
  std::vector<unsigned> free_slots_;
  std::map<std::uint64_t, unsigned> slots_;
};

}  // namespace aqua::prefill_decode
