// SPDX-License-Identifier: Apache-2.0
#include "aqua/prefix/block_hash.hpp"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace aqua::prefix {
namespace {

BlockHash from(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

}  // namespace

BlockHash chain_root(std::string_view salt) noexcept {
  return from(XXH3_128bits(salt.data(), salt.size()));
}

BlockHash chain_hash(BlockHash parent, std::span<const Token> block) noexcept {
  // Uses the parent's halves as seed and as first bytes, so that a block depends on all its 128
  // bits.
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset_withSeed(&state, parent.low);
  XXH3_128bits_update(&state, &parent.high, sizeof parent.high);
  XXH3_128bits_update(&state, block.data(), block.size_bytes());
  return from(XXH3_128bits_digest(&state));
}

std::vector<BlockHash> hash_chain(std::string_view salt, std::span<const Token> tokens,
                                  std::uint32_t block_tokens, bool partial_last) {
  std::vector<BlockHash> chain;
  if (block_tokens == 0) return chain;
  chain.reserve(tokens.size() / block_tokens + 1);
  BlockHash parent = chain_root(salt);
  while (tokens.size() >= block_tokens || (partial_last && !tokens.empty())) {
    const auto block = tokens.first(std::min<std::size_t>(tokens.size(), block_tokens));
    chain.push_back(parent = chain_hash(parent, block));
    tokens = tokens.subspan(block.size());
  }
  return chain;
}

}  // namespace aqua::prefix
