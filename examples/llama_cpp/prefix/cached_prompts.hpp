// SPDX-License-Identifier: Apache-2.0
// CachedPrompts: the library's prefix cache in front of llama.cpp. What the beginning of a prompt
// computed is stored in AquaTensors, and fetched into the KV cache of the next prompt that begins
// alike. llama.cpp gives no addresses of its cache, so blocks pass through a PagedCache and a saved
// state; an engine with a paged cache gives its own blocks to PrefixCache.
//
// Threads: the engine's, which waits for the copies. Owns: cache and paged memory; the runtime
// outlives it. Errors: every call throws Failure.
#pragma once

#include "aqua/prefix/prefix_cache.hpp"
#include "engine.hpp"
#include "paged_cache.hpp"

namespace aqua::llama_example {

struct PromptCacheShape {
  std::size_t block_tokens = 64;  // of a cached block: a multiple of kTokensPerBlock
  std::size_t most_tokens = 0;    // of the longest prompt
};

class CachedPrompts {
 public:
  // `sample` is a state that the engine saved, of any tokens.
  CachedPrompts(Runtime& runtime, std::vector<std::byte> sample, const PromptCacheShape& shape);

  // What fetch() would find. Less than the prompt: the last token is to be computed.
  [[nodiscard]] prefix::PrefixMatch match(std::span<const Token> prompt) const;
  // Puts what is cached of the prompt's first `most` tokens into the slot, which is empty. Where
  // the bytes are lost the match has 0 tokens, and the slot stays empty.
  [[nodiscard]] prefix::PrefixMatch fetch(SlotStates& engine, unsigned slot,
                                          std::span<const Token> prompt,
                                          std::size_t most = SIZE_MAX);
  // Stores what is not cached yet of the prompt, all of which the slot has. Returns the number of
  // new blocks.
  std::size_t store(SlotStates& engine, unsigned slot, std::span<const Token> prompt);

  // Drops what is cached of the prompt, as if its bytes were lost.
  void forget(std::span<const Token> prompt) { cache_.forget(prefix_of(chain_of(prompt))); }

  [[nodiscard]] PrefixCache& cache() { return cache_; }
  [[nodiscard]] std::size_t block_tokens() const { return block_tokens_; }

 private:
  [[nodiscard]] std::vector<prefix::BlockHash> chain_of(std::span<const Token> prompt) const;
  [[nodiscard]] prefix::Prefix prefix_of(std::span<const prefix::BlockHash> chain) const {
    return {chain, chain.size() * block_tokens_};
  }

  const std::vector<std::byte> sample_;
  const std::size_t block_tokens_;
  std::vector<std::uint32_t> blocks_;  // of the paged cache, all
  PagedCache paged_;
  PrefixCache cache_;
};

}  // namespace aqua::llama_example
