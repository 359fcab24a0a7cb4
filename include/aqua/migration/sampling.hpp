// SPDX-License-Identifier: Apache-2.0
// Random numbers by (seed, position), for samplers: the token at a position is drawn with the same
// number whichever engine draws it, after a move, a preemption or a computation from the beginning,
// and whatever else is in the batch. No state crosses but the seed.
//
// It is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC
// 2011), the generator of cuRAND and PyTorch, with the seed as key and the counter
// {position, draw}, low words first. Not for secrets.
//
// Equal numbers give equal tokens where the logits are equal; batches of other sizes may change
// these in their last bits.
//
// Threads: plain functions. Header only.
#pragma once

#include <array>
#include <cstdint>

#include "aqua/migration/move.hpp"

namespace aqua::migration {

using PhiloxBlock = std::array<std::uint32_t, 4>;

[[nodiscard]] constexpr PhiloxBlock philox(PhiloxBlock counter,
                                           std::array<std::uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// The number in [0, 1) for the token at a position. A sampler that needs several for one token asks
// for draws 0, 1, 2 …
[[nodiscard]] constexpr double uniform(std::uint64_t seed, Position position,
                                       std::uint64_t draw = 0) noexcept {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const PhiloxBlock block =
      philox({low(position), high(position), low(draw), high(draw)}, {low(seed), high(seed)});
  const std::uint64_t bits = std::uint64_t{block[1]} << 32 | block[0];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace aqua::migration
