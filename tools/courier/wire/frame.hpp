// SPDX-License-Identifier: Apache-2.0
// What couriers say to each other comes in frames: a kind, a length of three bytes, the most
// significant first. They are words (messages.hpp) or bytes of a parcel or a copy, which follow; or
// they announce so many bytes that come over the carrier that was agreed on.
//
// Threads: free functions. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "aqua/result.hpp"

namespace aqua::courier {

enum class FrameKind : std::uint8_t { words = 1, bytes = 2, carried = 3 };

inline constexpr std::size_t kMostWords = std::size_t{16} << 10;  // in one frame
inline constexpr std::size_t kMostBytes = std::size_t{1} << 20;   // in one frame
// Announced by one frame: so large that the wait between one piece and the next hardly counts.
inline constexpr std::size_t kMostCarried = std::size_t{8} << 20;
[[nodiscard]] constexpr std::size_t most_in(FrameKind kind) noexcept {
  return kind == FrameKind::words   ? kMostWords
         : kind == FrameKind::bytes ? kMostBytes
                                    : kMostCarried;
}

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
