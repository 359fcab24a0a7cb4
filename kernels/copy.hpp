// SPDX-License-Identifier: Apache-2.0
// Host launchers of the copy kernels. The kernels themselves are in copy.cu; what
// they compute with (copy_geometry.hpp, copy_piece.hpp, copy_ring.hpp) is plain C++ that the
// CPU's tests compile as well.
//
// Every launcher only queues: it takes a stream of the current device, never synchronises,
// and may be captured in a graph. Errors are CUDA's own (int: a cudaError_t, 0 is success),
// so that this header needs no CUDA header.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/blocks.hpp"

namespace aqua::kernels {

// One piece to copy. The list lies in memory that the device can read, aligned to 32 bytes.
// No destination overlaps another segment's source or destination. Either address may be
// this device's, an imported peer's, or registered host memory; any alignment and size are
// correct. Fast: both addresses alike modulo 16.
struct alignas(32) Segment {
  std::byte* dst;
  const std::byte* src;
  std::uint64_t bytes;
  std::uint64_t before = 0;  // bytes of the segments before it in the list: see describe()
};
static_assert(sizeof(Segment) == 32);

enum class CopyKernel : std::uint8_t {
  vector,  // 16-byte loads and stores: of as many SMs the faster wherever it was measured
  bulk,    // TMA bulk copies through shared memory (sm_90 and later; elsewhere `vector`);
           // segments that do not suit it are copied as by `vector`, one by one
};

struct CopyLaunch {
  const Segment* segments = nullptr;  // device-readable, valid until the kernel has run
  std::size_t count = 0;
  std::uint64_t total_bytes = 0;    // of all segments
  std::uint64_t largest_bytes = 0;  // of one
  unsigned max_sms = 0;             // 0: as many as help
  CopyKernel kernel = CopyKernel::vector;
};

// Fills in `before` and the launch's totals. The list is in host memory; whoever copies it
// to where the device reads it then points `segments` there.
[[nodiscard]] constexpr CopyLaunch describe(std::span<Segment> list) {
  CopyLaunch launch{.segments = list.data(), .count = list.size()};
  for (Segment& segment : list) {
    segment.before = launch.total_bytes;
    launch.total_bytes += segment.bytes;
    launch.largest_bytes = std::max(launch.largest_bytes, segment.bytes);
  }
  return launch;
}

// Gather, scatter and direct copies are the same: one launch for all layers and planes.
// A launch of no bytes queues nothing.
[[nodiscard]] int copy_segments(const CopyLaunch& launch, void* stream);

// `count` pieces of `blocks` from number `first` on. Planes and ids are device-readable and valid
// until the kernel has run. Destinations overlap neither each other nor a source.
struct BlockLaunch {
  Blocks blocks{};
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::byte* line = nullptr;  // where the side without planes begins, if there is one
  unsigned max_sms = 0;       // 0: as many as help
  CopyKernel kernel = CopyKernel::vector;
};
// The same bytes as copy_segments() with a list of these pieces.
[[nodiscard]] int copy_blocks(const BlockLaunch& launch, void* stream);

// Copies `bytes` from page-locked host memory to this device; all three are multiples of 16. No
// copy engine takes part, so it waits behind no bulk copy, whatever its stream: for the lists of
// the others, which are small.
[[nodiscard]] int upload(void* dst, const void* src, std::size_t bytes, void* stream);

// Brings the kernels into the current context, which the first launch on a device does otherwise,
// and then may wait for work that runs. Call it for each context, when the device is opened.
[[nodiscard]] int load_kernels();

}  // namespace aqua::kernels
