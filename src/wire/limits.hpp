// SPDX-License-Identifier: Apache-2.0
// How large anything on the wire may be. Beyond these a message is invalid_argument.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::wire {

inline constexpr std::size_t kMaxRequestBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxReplyBytes = std::size_t{256} << 20;  // a whole state
inline constexpr std::size_t kMaxHelloBytes = 16384;                   // either way on the lifeline
inline constexpr std::size_t kMaxDepth = 8;     // arrays and objects inside each other
inline constexpr std::size_t kMaxBatch = 4096;  // elements of a request's array
inline constexpr std::size_t kMaxRows = std::size_t{1} << 24;  // elements of a reply's array

inline constexpr std::size_t kMaxName = 128;  // bytes of a name of any kind
inline constexpr std::size_t kMaxPath = 107;  // a Unix socket's path, without its final zero
inline constexpr std::size_t kMaxMessage = 4096;

inline constexpr std::uint64_t kMaxDurationMs = 86'400'000;         // a duration asked for: a day
inline constexpr std::uint64_t kMaxDistanceMs = 1'000'000'000'000;  // a point in time, from now

}  // namespace aqua::wire
