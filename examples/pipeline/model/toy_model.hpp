// SPDX-License-Identifier: Apache-2.0
// A transformer in integers, modulo 2^64. Attention is a sum over every byte of every key and value
// so far, with odd weights that depend on the query, on the token's position and on the byte's
// place: one wrong byte, or one in a wrong place, changes the sum and with it all tokens that
// follow. Sums of parts of the heads add up to the whole in any order, as tensor parallelism needs.
//
// Threads: functions of their arguments. What takes KvPlanes is called inside kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/shape.hpp"

namespace aqua::pipeline {

using Word = std::uint64_t;
// What a token's activation is between layers.
using Hidden = std::array<Word, 4>;

// A layer's keys and values of one sequence, as its part of a paged cache. Heads are numbered from
// the first one that the cache has.
struct KvPlanes {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  std::size_t block_stride = 0;
  std::size_t token_stride = 0;
  std::size_t head_stride = 0;
  unsigned tokens_per_block = 0;
  std::span<const std::uint32_t> blocks{};

  [[nodiscard]] std::size_t offset(std::uint32_t position, unsigned head) const {
    return blocks[position / tokens_per_block] * block_stride +
           position % tokens_per_block * token_stride + head * head_stride;
  }
};

[[nodiscard]] Hidden embed(std::uint32_t token);

// Writes the keys and values of the part's heads for a token at `position`, whose activation
// before the layer is `in`.
void write_kv(const ModelShape& model, const Part& part, unsigned layer, const KvPlanes& kv,
              std::uint32_t position, const Hidden& in);
// What the part's query heads add to the token's sum, over the positions up to its own.
[[nodiscard]] Hidden attend(const ModelShape& model, const Part& part, unsigned layer,
                            const KvPlanes& kv, std::uint32_t position, const Hidden& in);
void add(Hidden& sum, const Hidden& more);
// The activation behind the layer, from the sum over all heads.
[[nodiscard]] Hidden finish_layer(unsigned layer, const Hidden& in, const Hidden& sum);

// The token that follows one at `position`. The sampler has no state: what it draws is keyed by the
// request's seed and the position, so that a position computed again gives its token again.
[[nodiscard]] std::uint32_t sample(const Hidden& last, Word seed, std::uint32_t position);
// A request's prompt, likewise.
[[nodiscard]] std::uint32_t prompt_token(Word seed, std::uint32_t position);

}  // namespace aqua::pipeline
