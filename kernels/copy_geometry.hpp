// SPDX-License-Identifier: Apache-2.0
// Who copies what. The bytes of all segments in list order are one line; every warp gets an
// equal share of it, so that work is even whatever the segments' sizes: a large segment is
// split, small ones are grouped. A warp finds its first segment by division where all are of
// one size, as KV blocks are, by bisection of `before` otherwise; then it walks. No counter
// in memory, so launches on several streams and replayed graphs do not meet. Pieces that blocks
// name (blocks.hpp) are divided in the same way, without a list.
//
// Plain arithmetic, the same on host and device.
#pragma once

#include <cstdint>

#include "kernels/copy.hpp"
#include "kernels/host_device.hpp"

namespace aqua::kernels {

inline constexpr unsigned kLanes = 32;             // of a warp
inline constexpr std::uint64_t kCutBytes = 128;    // segments are split at multiples of this
inline constexpr std::uint64_t kPassBytes = 4096;  // of a warp in flight: 8 x 16 bytes a lane

// What the kernels take.
struct CopyPlan {
  const Segment* segments;
  std::uint64_t count;
  std::uint64_t total_bytes;
  std::uint64_t each_bytes;   // size of every segment, 0: they differ
  std::uint64_t share_bytes;  // of the line, for one warp
};
struct BlockPlan {
  BlockLaunch launch;
  std::uint64_t share_bytes;  // of the line, for one warp
};

struct Piece {
  std::byte* dst;
  const std::byte* src;
  std::uint64_t bytes;
};

// Where in `segment` the line is cut at `place`: an offset, the same for the warp that ends
// there and the one that begins there. Rounded so that no two warps write one cache line.
AQUA_HOST_DEVICE constexpr std::uint64_t cut(std::uint64_t dst, std::uint64_t bytes,
                                             std::uint64_t before, std::uint64_t place) {
  if (place <= before) return 0;
  const std::uint64_t offset = place - before;
  if (offset >= bytes) return bytes;
  const std::uint64_t excess = (dst + offset) % kCutBytes;
  return offset > excess ? offset - excess : 0;
}

// The pieces of one share, in order. A Lane is one thread of a warp as the walk sees it:
//   Segment read(const Segment*)            reads an entry of the list
//   std::uint64_t read(const std::uint64_t*)
template <typename Lane>
class Walk {
 public:
  AQUA_DEVICE Walk(const Lane& lane, const CopyPlan& plan, std::uint64_t share)
      : lane_(lane), plan_(plan), begin_(share * plan.share_bytes) {
    if (begin_ >= plan_.total_bytes) {
      index_ = plan_.count;
      return;
    }
    end_ = begin_ + plan_.share_bytes;
    index_ = plan_.each_bytes != 0 ? begin_ / plan_.each_bytes : find();
    ahead_ = lane_.read(plan_.segments + index_);
  }

  // The next piece, never empty; false when there is none.
  AQUA_DEVICE bool next(Piece& piece) {
    while (index_ < plan_.count) {
      const Segment segment = ahead_;
      const std::uint64_t before =
          plan_.each_bytes != 0 ? index_ * plan_.each_bytes : segment.before;
      if (before >= end_) break;
      // The next entry is on its way while this one's bytes are.
      if (++index_ < plan_.count) ahead_ = lane_.read(plan_.segments + index_);
      const auto dst = reinterpret_cast<std::uintptr_t>(segment.dst);
      const std::uint64_t from = cut(dst, segment.bytes, before, begin_);
      const std::uint64_t to = cut(dst, segment.bytes, before, end_);
      if (from == to) continue;
      piece = {segment.dst + from, segment.src + from, to - from};
      return true;
    }
    index_ = plan_.count;
    return false;
  }

 private:
  // The last segment that begins at or before the share: not an empty one.
  AQUA_DEVICE std::uint64_t find() const {
    std::uint64_t low = 0;
    std::uint64_t high = plan_.count;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (lane_.read(&plan_.segments[middle].before) <= begin_) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const Lane& lane_;
  const CopyPlan& plan_;
  std::uint64_t begin_;
  std::uint64_t end_ = 0;
  std::uint64_t index_ = 0;  // of ahead_
  Segment ahead_{};
};

// The same for pieces that the numbers of blocks name: all of one size, addresses computed.
template <typename Lane>
class BlockWalk {
 public:
  AQUA_DEVICE BlockWalk(const Lane& lane, const BlockPlan& plan, std::uint64_t share)
      : launch_(plan.launch),
        cursor_(lane, plan.launch.blocks, plan.launch.line),
        begin_(share * plan.share_bytes),
        end_(begin_ + plan.share_bytes),
        index_(begin_ / plan.launch.blocks.piece_bytes) {
    if (index_ < launch_.count) cursor_.seek(launch_.first + index_, index_);
  }

  AQUA_DEVICE bool next(Piece& piece) {
    const std::uint64_t bytes = launch_.blocks.piece_bytes;
    while (index_ < launch_.count && index_ * bytes < end_) {
      const std::uint64_t before = index_ * bytes;
      std::byte* const dst = cursor_.dst();
      const std::byte* const src = cursor_.src();
      if (++index_ < launch_.count) cursor_.advance();
      const auto address = reinterpret_cast<std::uintptr_t>(dst);
      const std::uint64_t from = cut(address, bytes, before, begin_);
      const std::uint64_t to = cut(address, bytes, before, end_);
      if (from == to) continue;
      piece = {dst + from, src + from, to - from};
      return true;
    }
    return false;
  }

 private:
  const BlockLaunch& launch_;
  Cursor<Lane> cursor_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t index_;  // of the cursor's piece
};

// The walk of one warp, whatever the plan.
template <typename Lane>
AQUA_DEVICE Walk<Lane> walk_of(const Lane& lane, const CopyPlan& plan, std::uint64_t share) {
  return Walk<Lane>(lane, plan, share);
}
template <typename Lane>
AQUA_DEVICE BlockWalk<Lane> walk_of(const Lane& lane, const BlockPlan& plan, std::uint64_t share) {
  return BlockWalk<Lane>(lane, plan, share);
}

}  // namespace aqua::kernels
