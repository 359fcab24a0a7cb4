// SPDX-License-Identifier: Apache-2.0
// A prefix pack is what a segment of a keeper's has of a prefix cache: blocks of one prompt, behind
// a head that says which they are, so that whoever finds the segment needs nothing else. Numbers
// are little-endian.
//
//   at     bytes
//   0          8  "AQUAPFX1"
//   8          8  FNV-1a hash, of 64 bits, of the head from 16 on
//   16        16  whose it is: the hash of a name
//   32        16  the hash of the shape
//   48         8  order: the packs of a cache are numbered as they are written
//   56         8  tokens that the chain covers
//   64         4  blocks of the chain
//   68         4  the first of them that is here; all behind it are
//   72            the chain, from the prompt's first block on: 16 bytes each
//                 zeroes up to a multiple of 64, then the blocks as they lie in tensors, without
//                 gaps
//
// Threads: plain functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aqua/prefix/prefix_index.hpp"
#include "aqua/result.hpp"

namespace aqua::prefix {

// Also of a history (prefix_history.hpp).
struct PackHead {
  BlockHash owner{};
  BlockHash shape{};
  std::uint64_t order = 0;
  friend bool operator==(const PackHead&, const PackHead&) = default;
};

struct PrefixPack {
  PackHead head{};
  std::uint64_t tokens = 0;
  std::uint32_t first = 0;
  std::vector<BlockHash> chain{};
  [[nodiscard]] Prefix prefix() const { return {chain, tokens}; }
  friend bool operator==(const PrefixPack&, const PrefixPack&) = default;
};

// Where the blocks begin behind a chain of so many.
[[nodiscard]] std::size_t pack_head_bytes(std::size_t chain_blocks);

// Before: the memory has so many bytes, `first` is a block of the chain.
void write_pack_head(const PrefixPack& pack, std::span<std::byte> segment);

// invalid_argument: it is no pack, or one that cannot be. The head lies within the segment; what
// the blocks take of it depends on the shape, which the caller knows.
[[nodiscard]] Result<PrefixPack> parse_pack_head(std::span<const std::byte> segment);

// Which packs can be used, in the order in which they were written: those of whose prompts all
// earlier blocks are in some pack.
[[nodiscard]] std::vector<std::size_t> usable_packs(std::span<const PrefixPack> found);

}  // namespace aqua::prefix
