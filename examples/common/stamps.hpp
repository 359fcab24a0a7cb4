// SPDX-License-Identifier: Apache-2.0
// Stamps: what the toy engine writes in place of keys and values, so that every byte of the
// cache can be checked. Each token's slot in each plane is filled with 64-bit words that
// depend on tenant, sequence, plane, position of the token, and place in the slot. The slots
// behind a sequence's last token are stamped too, as empty: so a block tells how many of its
// tokens were written when it was copied, and a stale or misplaced one is found.
//
// Threads: not needed: functions of their arguments. Call them inside kernels only.
// Units:   positions count tokens from the sequence's first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aqua::example {

// The cache as a kernel sees it: planes of densely packed blocks of `tokens_per_block` slots.
struct CacheGeometry {
  std::vector<std::byte*> planes{};  // device addresses
  std::uint32_t tokens_per_block = 0;
  std::size_t slot_bytes = 0;   // of one token in one plane; a multiple of 8
  std::size_t first_plane = 0;  // where these are not all: the first one's number in the model
  [[nodiscard]] std::size_t block_bytes() const { return tokens_per_block * slot_bytes; }
};

// A sequence's part of the cache: its blocks in order, and how many tokens they hold.
struct SequenceView {
  std::uint32_t tenant = 0;
  std::uint64_t sequence = 0;
  std::uint32_t tokens = 0;
  std::span<const std::uint32_t> blocks{};
};

// Stamps the slots of positions [first, last): as tokens below `sequence.tokens`, as empty
// from there on.
void write_stamps(const CacheGeometry& cache, const SequenceView& sequence, std::uint32_t first,
                  std::uint32_t last);

// Compares every word of every block of the sequence; returns how many bytes differ.
[[nodiscard]] std::size_t count_mismatches(const CacheGeometry& cache,
                                           const SequenceView& sequence);

// The same for plain memory, as the producers keep: words that depend on `name`.
void fill_words(std::span<std::byte> memory, std::uint64_t name);
[[nodiscard]] std::size_t count_wrong_words(std::span<const std::byte> memory, std::uint64_t name);
[[nodiscard]] std::size_t count_nonzero_words(std::span<const std::byte> memory);
inline constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

}  // namespace aqua::example
