// SPDX-License-Identifier: Apache-2.0
// Names for KV blocks by content: a block is known by the hash of its tokens and of everything
// before it, so that equal hashes mean equal prefixes.
//
// The hash is XXH3 with 128 bits. It is not cryptographic: whoever can choose tokens freely could
// in principle construct two blocks of one chain that collide, and get his own answers wrong.
// The salt keeps that within a tenant: chains of different salts share nothing, and a tenant whose
// salt nobody knows can neither be probed nor poisoned. Callers that need more bring hashes of
// their own (SHA-256 cut to 128 bits, say); the index only compares them.
//
// Threads: pure functions.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "aqua/export.h"

namespace aqua::prefix {

struct BlockHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const BlockHash&, const BlockHash&) = default;
};

using Token = std::uint32_t;

// The parent of a tenant's first block. The model, its adapter and all else that changes the KV of
// equal tokens belong into the salt as well.
[[nodiscard]] AQUA_API BlockHash chain_root(std::string_view salt) noexcept;

// The block of these tokens after `parent`. The number of tokens counts: a part of a block is
// another block.
[[nodiscard]] AQUA_API BlockHash chain_hash(BlockHash parent,
                                            std::span<const Token> block) noexcept;

// All whole blocks of a prompt, in order. A last, partial block is left out, unless
// `partial_last` asks for it.
[[nodiscard]] AQUA_API std::vector<BlockHash> hash_chain(std::string_view salt,
                                                         std::span<const Token> tokens,
                                                         std::uint32_t block_tokens,
                                                         bool partial_last = false);

}  // namespace aqua::prefix

template <>
struct std::hash<aqua::prefix::BlockHash> {
  std::size_t operator()(const aqua::prefix::BlockHash& block) const noexcept {
    // Callers' own hashes may be poor (small numbers): mix them.
    return static_cast<std::size_t>((block.low ^ (block.high >> 31)) * 0x9E3779B97F4A7C15U);
  }
};
