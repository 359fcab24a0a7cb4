// SPDX-License-Identifier: Apache-2.0
// What couriers say to each other comes in frames: a kind, a length of three bytes, the most
// significant first, then so many bytes. They are words (messages.hpp) or bytes of a parcel or a
// copy.
//
// Threads: free functions. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "aqua/result.hpp"

namespace aqua::courier {

enum class FrameKind : std::uint8_t { words = 1, bytes = 2 };

inline constexpr std::size_t kMostWords = std::size_t{16} << 10;  // in one frame
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;   // in one frame

struct FrameHead {
  FrameKind kind = FrameKind::words;
  std::uint32_t length = 0;  // at least one
  friend bool operator==(const FrameHead&, const FrameHead&) = default;
};
using FrameHeadBytes = std::array<std::byte, 4>;

[[nodiscard]] FrameHeadBytes encode(const FrameHead& head);
// invalid_argument: no such kind, or a length that none has.
[[nodiscard]] Result<FrameHead> decode_head(const FrameHeadBytes& bytes);

}  // namespace aqua::courier
