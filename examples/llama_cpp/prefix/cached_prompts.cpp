// SPDX-License-Identifier: Apache-2.0
#include "cached_prompts.hpp"

#include <algorithm>
#include <numeric>

#include "must.hpp"

namespace aqua::llama_example {

using example::must;

namespace {

std::vector<std::uint32_t> first_blocks(std::size_t tokens) {
  std::vector<std::uint32_t> blocks(PagedShape{}.blocks_of(tokens));
  std::iota(blocks.begin(), blocks.end(), 0U);
  return blocks;
}

// Least recently used first: how long this model takes to compute is not known before it has.
PrefixCacheOptions options_of(const PromptCacheShape& shape) {
  return {.index = {.block_tokens = static_cast<std::uint32_t>(shape.block_tokens),
                    .eviction = prefix::Eviction::lru},
          .engine_block_tokens = kTokensPerBlock};
}

}  // namespace

CachedPrompts::CachedPrompts(Runtime& runtime, std::vector<std::byte> sample,
                             const PromptCacheShape& shape)
    : sample_(std::move(sample)),
      block_tokens_(shape.block_tokens),
      blocks_(first_blocks(shape.most_tokens)),
      paged_(runtime, StateView::of(sample_), blocks_.size()),
      cache_(
          must(PrefixCache::create(runtime, paged_.layout(), options_of(shape)), "prefix cache")) {}

// One engine, one model, no tenants: nothing needs a salt. A service would give each tenant one.
std::vector<prefix::BlockHash> CachedPrompts::chain_of(std::span<const Token> prompt) const {
  const std::vector<prefix::Token> tokens(prompt.begin(), prompt.end());
  return prefix::hash_chain("", std::span(tokens).first(tokens.size() - 1),
                            static_cast<std::uint32_t>(block_tokens_));
}

prefix::PrefixMatch CachedPrompts::match(std::span<const Token> prompt) const {
  return cache_.match(prefix_of(chain_of(prompt)));
}

prefix::PrefixMatch CachedPrompts::fetch(SlotStates& engine, unsigned slot,
                                         std::span<const Token> prompt, std::size_t most) {
  const auto all = chain_of(prompt);
  const auto chain = std::span(all).first(std::min(all.size(), most / block_tokens_));
  auto got = must(cache_.fetch(prefix_of(chain), blocks_, paged_.stream()), "fetch of a prefix");
  if (got.match.tokens == 0) return {};
  if (const auto arrived = got.wait(); !arrived.ok()) {
    if (arrived.error().code != Code::data_loss) must(arrived, "fetch of a prefix");
    cache_.forget(prefix_of(chain));
    return {};
  }
  std::vector<std::byte> state = empty_state(sample_, got.match.tokens);
  paged_.read(blocks_, state, StateView::of(state));
  engine.restore(slot, state);
  return got.match;
}

std::size_t CachedPrompts::store(SlotStates& engine, unsigned slot, std::span<const Token> prompt) {
  const auto chain = chain_of(prompt);
  if (cache_.match(prefix_of(chain)).blocks == chain.size()) return 0;
  std::vector<std::byte> state(engine.state_bytes(slot));
  engine.save(slot, state);
  paged_.write(blocks_, state, StateView::of(state));
  auto stored = must(cache_.store(prefix_of(chain), blocks_, paged_.stream()), "store of a prefix");
  must(stored.wait(), "store of a prefix");
  return stored.blocks;
}

}  // namespace aqua::llama_example
