// SPDX-License-Identifier: Apache-2.0
#include "stamps.hpp"

#include "aqua/emulated.hpp"

namespace aqua::example {
namespace {

constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15;
constexpr std::uint64_t kEmpty = std::uint64_t{1} << 63;

// SplitMix64's finaliser: every bit of the input changes half of the output's.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ x >> 27) * 0x94D0'49BB'1331'11EB;
  return x ^ x >> 31;
}

// A slot's first word; the others follow at distance kOdd.
std::uint64_t first_word(const SequenceView& sequence, std::size_t plane, std::uint32_t position) {
  const std::uint64_t empty = position < sequence.tokens ? 0 : kEmpty;
  const std::uint64_t who = mix(sequence.sequence + (std::uint64_t{sequence.tenant} << 40) + kOdd);
  return mix(who ^ mix(std::uint64_t{position} << 16 ^ plane ^ empty));
}

void fill(std::byte* memory, std::size_t words, std::uint64_t value) {
  auto* at = reinterpret_cast<std::uint64_t*>(memory);
  for (std::size_t i = 0; i < words; ++i) at[i] = value + i * kOdd;
}

// Differences are rare: one pass that only asks whether there is any, and counts if so.
std::size_t count_wrong(const std::byte* memory, std::size_t words, std::uint64_t value,
                        std::uint64_t step) {
  const auto* at = reinterpret_cast<const std::uint64_t*>(memory);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < words; ++i) any |= at[i] ^ (value + i * step);
  if (any == 0) return 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < words; ++i) wrong += at[i] != value + i * step ? 1 : 0;
  return wrong;
}

}  // namespace

void write_stamps(const CacheGeometry& cache, const SequenceView& sequence, std::uint32_t first,
                  std::uint32_t last) {
  for (std::size_t plane = 0; plane < cache.planes.size(); ++plane) {
    std::byte* base = emulated::kernel_view(cache.planes[plane]);
    for (std::uint32_t position = first; position < last; ++position) {
      const std::size_t block = sequence.blocks[position / cache.tokens_per_block];
      std::byte* slot =
          base + block * cache.block_bytes() + position % cache.tokens_per_block * cache.slot_bytes;
      fill(slot, cache.slot_bytes / kWordBytes,
           first_word(sequence, cache.first_plane + plane, position));
    }
  }
}

std::size_t count_mismatches(const CacheGeometry& cache, const SequenceView& sequence) {
  const std::size_t words = cache.slot_bytes / kWordBytes;
  std::size_t wrong = 0;
  for (std::size_t plane = 0; plane < cache.planes.size(); ++plane) {
    const std::byte* base = emulated::kernel_view(cache.planes[plane]);
    std::uint32_t position = 0;
    for (const std::size_t block : sequence.blocks) {
      const std::byte* slot = base + block * cache.block_bytes();
      for (std::uint32_t i = 0; i < cache.tokens_per_block; ++i, ++position) {
        wrong += count_wrong(slot + i * cache.slot_bytes, words,
                             first_word(sequence, cache.first_plane + plane, position), kOdd);
      }
    }
  }
  return wrong * kWordBytes;
}

void fill_words(std::span<std::byte> memory, std::uint64_t name) {
  fill(memory.data(), memory.size() / kWordBytes, mix(name + kOdd));
}
std::size_t count_wrong_words(std::span<const std::byte> memory, std::uint64_t name) {
  return count_wrong(memory.data(), memory.size() / kWordBytes, mix(name + kOdd), kOdd);
}
std::size_t count_nonzero_words(std::span<const std::byte> memory) {
  return count_wrong(memory.data(), memory.size() / kWordBytes, 0, 0);
}

}  // namespace aqua::example
