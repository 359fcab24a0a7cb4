// Host launchers of the copy and scrub kernels. The kernels themselves are in copy.cu; what
// they compute with (copy_geometry.hpp) is plain C++ that the CPU's tests compile as well.
//
// Every launcher only queues: it takes a stream of the current device, never synchronises,
// and may be captured in a graph. Errors are CUDA's own (int: a cudaError_t, 0 is success),
// so that this header needs no CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace aqua::kernels {

// One piece to copy. The list lies in memory that the device can read. No segment overlaps
// another one's destination. Either address may be this device's, an imported peer's, or
// registered host memory; any alignment and size are correct, 16-byte alignment is fast.
struct Segment {
  std::byte* dst;
  const std::byte* src;
  std::uint64_t bytes;
};
static_assert(sizeof(Segment) == 24);

enum class CopyKernel : std::uint8_t {
  automatic,  // bulk where the device has it and the segments suit it
  vector,     // 16-byte loads and stores
  bulk,       // TMA bulk copies through shared memory (sm_90 and later); misaligned
              // segments fall back to `vector` one by one
};

struct CopyLaunch {
  const Segment* segments;   // device-readable, valid until the kernel has run
  std::size_t count;
  std::uint64_t total_bytes;    // of all segments
  std::uint64_t largest_bytes;  // of one
  unsigned max_sms = 0;         // 0: as many as help
  CopyKernel kernel = CopyKernel::automatic;
};

// Gather, scatter and direct copies are the same: one launch for all layers and planes.
[[nodiscard]] int copy_segments(const CopyLaunch& launch, void* stream);

// Fills with zeroes.
[[nodiscard]] int scrub(std::byte* dst, std::size_t bytes, void* stream);

}  // namespace aqua::kernels
