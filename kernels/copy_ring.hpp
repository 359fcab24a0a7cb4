// SPDX-License-Identifier: Apache-2.0
// How one warp keeps bulk copies in flight: through a ring of stages in shared memory, loads
// kAhead stages ahead of the stores. The engine is the copy hardware, or the CPU tests' model
// of it that completes as late as it may:
//   void load(unsigned slot, const std::byte* src, std::uint32_t bytes)   asynchronous
//   void wait_loaded(unsigned slot, unsigned parity)   of the slot's use number: even, odd
//   void store(std::byte* dst, unsigned slot, std::uint32_t bytes)        asynchronous
//   void wait_read<n>()      until all stores but the last n have read their stage
//   void wait_stored()       until all stores have completed
// Addresses and sizes of bulk copies are multiples of 16.
#pragma once

#include <cstdint>

#include "kernels/copy_piece.hpp"
#include "kernels/host_device.hpp"

namespace aqua::kernels {

// Stages of 4 KiB, so that blocks of that size fill them: kAhead of them are in flight whatever the
// size of the blocks.
inline constexpr std::uint32_t kStageBytes = 4096;
inline constexpr unsigned kStages = 12;
inline constexpr unsigned kAhead = 9;
static_assert(kAhead < kStages);

// What is to happen with a stage once it is loaded.
struct Pending {
  std::byte* dst;
  std::uint32_t bytes;
};

struct alignas(128) RingMemory {
  std::byte stage[kStages][kStageBytes];
  std::uint64_t loaded[kStages];  // the hardware's barriers
  Pending pending[kStages];
};

template <typename Engine>
class Ring {
 public:
  AQUA_DEVICE Ring(Engine& engine, RingMemory& memory) : engine_(engine), memory_(memory) {}

  // At most kStageBytes.
  AQUA_DEVICE void push(std::byte* dst, const std::byte* src, std::uint32_t bytes) {
    const auto slot = static_cast<unsigned>(pushed_ % kStages);
    // The slot's last stage was stored kStages - kAhead stores ago, this one not counted.
    if (pushed_ >= kStages) engine_.template wait_read<kStages - kAhead - 1>();
    engine_.load(slot, src, bytes);
    memory_.pending[slot] = {dst, bytes};
    ++pushed_;
    if (pushed_ - stored_ > kAhead) store_oldest();
  }
  // The ring's memory must stay until this has returned.
  AQUA_DEVICE void finish() {
    while (stored_ != pushed_) store_oldest();
    engine_.wait_stored();
  }

 private:
  AQUA_DEVICE void store_oldest() {
    const auto slot = static_cast<unsigned>(stored_ % kStages);
    engine_.wait_loaded(slot, static_cast<unsigned>(stored_ / kStages % 2));
    engine_.store(memory_.pending[slot].dst, slot, memory_.pending[slot].bytes);
    ++stored_;
  }

  Engine& engine_;
  RingMemory& memory_;
  std::uint64_t pushed_ = 0;
  std::uint64_t stored_ = 0;
};

// One warp's share of a piece; only lane 0 drives the ring. A piece whose addresses differ
// modulo 16 is beyond the hardware: all lanes copy it. lane.converge() brings them together.
template <typename Lane, typename Engine>
AQUA_DEVICE void copy_piece_bulk(const Lane& lane, Ring<Engine>& ring, const Piece& piece) {
  if (differing_bits(piece) % 16 != 0) {
    lane.converge();
    return copy_piece(lane, piece);
  }
  const Split parts = split(reinterpret_cast<std::uintptr_t>(piece.dst), piece.bytes, 16);
  const std::uint64_t rest = parts.head + parts.body;
  copy_few(lane, piece.dst, piece.src, parts.head);
  copy_few(lane, piece.dst + rest, piece.src + rest, parts.tail);
  if (lane.index() != 0) return;
  for (std::uint64_t at = parts.head; at < rest; at += kStageBytes) {
    const std::uint64_t left = rest - at;
    ring.push(piece.dst + at, piece.src + at,
              static_cast<std::uint32_t>(left < kStageBytes ? left : kStageBytes));
  }
}

}  // namespace aqua::kernels
