// SPDX-License-Identifier: Apache-2.0
// How a warp copies one piece with loads and stores: the widest word that both addresses
// allow, bytes for what is left at either end.
//
// A Lane is one thread of the warp, and what differs between a GPU and the CPU's tests:
//   unsigned index()                 0 to 31
//   Word load(const Word*)           aligned
//   void store(Word*, Word)          aligned
#pragma once

#include <cstdint>

#include "kernels/copy_geometry.hpp"
#include "kernels/host_device.hpp"

namespace aqua::kernels {

struct alignas(16) Word16 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) Word8 {
  std::uint32_t x, y;
};

// kDepth loads of a lane are in flight before the first store waits for its own.
template <unsigned kDepth, typename Word, typename Lane>
AQUA_DEVICE void copy_pass(const Lane& lane, Word* dst, const Word* src) {
  Word held[kDepth];
  AQUA_UNROLL
  for (unsigned k = 0; k < kDepth; ++k) held[k] = lane.load(src + k * kLanes);
  AQUA_UNROLL
  for (unsigned k = 0; k < kDepth; ++k) lane.store(dst + k * kLanes, held[k]);
}

// The rest of less than a full pass goes by halves: one pass where it is a power of two.
template <typename Word, typename Lane>
AQUA_DEVICE void copy_words(const Lane& lane, Word* dst, const Word* src, std::uint64_t words) {
  std::uint64_t at = lane.index();
  AQUA_NO_UNROLL  // which would interleave passes and so shorten them
      for (; at + 7 * kLanes < words; at += 8 * kLanes) copy_pass<8>(lane, dst + at, src + at);
  if (at + 3 * kLanes < words) {
    copy_pass<4>(lane, dst + at, src + at);
    at += 4 * kLanes;
  }
  if (at + kLanes < words) {
    copy_pass<2>(lane, dst + at, src + at);
    at += 2 * kLanes;
  }
  if (at < words) copy_pass<1>(lane, dst + at, src + at);
}

// At most 32 bytes, one for each lane.
template <typename Lane>
AQUA_DEVICE void copy_few(const Lane& lane, std::byte* dst, const std::byte* src,
                          std::uint64_t bytes) {
  if (lane.index() >= bytes) return;
  const auto at = lane.index();
  lane.store(reinterpret_cast<std::uint8_t*>(dst) + at,
             lane.load(reinterpret_cast<const std::uint8_t*>(src) + at));
}

// A piece as bytes up to the first aligned address, whole words, bytes.
struct Split {
  std::uint64_t head, body, tail;
};
AQUA_HOST_DEVICE constexpr Split split(std::uint64_t dst, std::uint64_t bytes, std::uint64_t word) {
  std::uint64_t head = (0 - dst) & (word - 1);
  if (head > bytes) head = bytes;
  const std::uint64_t tail = (bytes - head) & (word - 1);
  return {head, bytes - head - tail, tail};
}

template <typename Word, typename Lane>
AQUA_DEVICE void copy_by(const Lane& lane, const Piece& piece) {
  const Split parts = split(reinterpret_cast<std::uintptr_t>(piece.dst), piece.bytes, sizeof(Word));
  if constexpr (sizeof(Word) > 1) copy_few(lane, piece.dst, piece.src, parts.head);
  copy_words(lane, reinterpret_cast<Word*>(piece.dst + parts.head),
             reinterpret_cast<const Word*>(piece.src + parts.head), parts.body / sizeof(Word));
  if constexpr (sizeof(Word) > 1) {
    const std::uint64_t rest = parts.head + parts.body;
    copy_few(lane, piece.dst + rest, piece.src + rest, parts.tail);
  }
}

// Addresses alike modulo a power of two: the bits below it do not differ.
AQUA_HOST_DEVICE inline std::uint64_t differing_bits(const Piece& piece) {
  return reinterpret_cast<std::uintptr_t>(piece.dst) ^ reinterpret_cast<std::uintptr_t>(piece.src);
}

template <typename Lane>
AQUA_DEVICE void copy_piece(const Lane& lane, const Piece& piece) {
  const std::uint64_t differ = differing_bits(piece);
  if (differ % 16 == 0) return copy_by<Word16>(lane, piece);
  if (differ % 8 == 0) return copy_by<Word8>(lane, piece);
  if (differ % 4 == 0) return copy_by<std::uint32_t>(lane, piece);
  if (differ % 2 == 0) return copy_by<std::uint16_t>(lane, piece);
  copy_by<std::uint8_t>(lane, piece);
}

}  // namespace aqua::kernels
