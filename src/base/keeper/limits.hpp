// SPDX-License-Identifier: Apache-2.0
// What a keeper's client may name and hand over at most: far beyond any use, and what keeps a
// hostile packet small.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::keeper_wire {

inline constexpr std::size_t kLongestName = 128;    // bytes of a model, a version, a pool or a role
inline constexpr std::size_t kMostSlabs = 1 << 16;  // of one model or pool
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48;  // of all of its slabs
inline constexpr std::size_t kMaxPacket = std::size_t{64} << 10;     // bytes
inline constexpr std::size_t kMaxDescriptors = 64;                   // beside a packet
inline constexpr std::size_t kMaxRows = 64;                          // for people, in one answer
inline constexpr int kDeepest = 4;                                   // brackets in brackets
inline constexpr std::uint32_t kMostCount = ~std::uint32_t{0};

}  // namespace aqua::keeper_wire
