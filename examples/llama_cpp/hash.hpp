// SPDX-License-Identifier: Apache-2.0
// A hash that sees every bit and costs a small part of a copy: eight multiplications in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace aqua::llama_example {

[[nodiscard]] inline std::uint64_t hash_bytes(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
  constexpr std::size_t kLanes = 8;
  std::array<std::uint64_t, kLanes> lanes{1, 2, 3, 4, 5, 6, 7, 8};
  std::size_t at = 0;
  const auto take = [](std::uint64_t lane, std::uint64_t word) {
    lane = (lane ^ word) * kPrime;
    return lane ^ (lane >> 29);
  };
  for (; at + sizeof lanes <= bytes.size(); at += sizeof lanes) {
    std::array<std::uint64_t, kLanes> words;
    std::memcpy(words.data(), bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = take(lanes[i], words[i]);
  }
  std::uint64_t sum = take(kPrime, bytes.size());
  for (const std::uint64_t lane : lanes) sum = take(sum, lane);
  for (; at < bytes.size(); ++at) sum = take(sum, static_cast<std::uint64_t>(bytes[at]));
  return sum;
}

// Adds the next hash to that of what was hashed so far.
[[nodiscard]] constexpr std::uint64_t add_hash(std::uint64_t sum, std::uint64_t hash) {
  return (sum ^ hash) * 0x9E3779B97F4A7C15;
}

}  // namespace aqua::llama_example
