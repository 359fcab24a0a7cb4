// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/work.hpp"

#include <chrono>
#include <thread>

#include "device/memfd/bulk_copy.hpp"
#include "device/memfd/device.hpp"
#include "device/pieces.hpp"

namespace aqua::device {
namespace {

using Clock = std::chrono::steady_clock;

// Visits every segment of a batch, in order.
struct Listed {
  const std::vector<CopySegment>& batch;
  template <typename Visit>
  void operator()(Visit visit) const {
    for (const CopySegment& s : batch) visit(s);
  }
};
// Visits pieces that blocks name, in order.
struct Computed {
  const BlockCopy& blocks;
  const PieceRange& pieces;
  template <typename Visit>
  void operator()(Visit visit) const {
    each_piece(blocks, pieces, visit);
  }
};

// Each is copied when the next one is known, whose first bytes are fetched meanwhile.
template <typename Each>
void copy_segments(const Each& each) {
  CopySegment held;
  each([&](const CopySegment& s) {
    bulk_copy(kernel_view(held.dst), kernel_view(held.src), held.bytes, kernel_view(s.src));
    held = s;
  });
  bulk_copy(kernel_view(held.dst), kernel_view(held.src), held.bytes);
  bulk_finish();
}

template <typename Each>
bool run(const Each& each, const MappedRegions& regions, std::uint64_t link_bytes_per_second) {
  const Clock::time_point start = Clock::now();
  bool poisoned = false;
  std::uint64_t linked = 0;
  each([&](const CopySegment& s) {
    poisoned |=
        regions.poisoned.touches(s.dst, s.bytes) || regions.poisoned.touches(s.src, s.bytes);
    if (link_bytes_per_second == 0) return;
    const bool own = regions.own.covers(s.dst, s.bytes) && regions.own.covers(s.src, s.bytes);
    if (!own) linked += s.bytes;
  });
  if (poisoned) return false;
  copy_segments(each);
  if (link_bytes_per_second > 0) {
    const std::chrono::duration<double> least(static_cast<double>(linked) /
                                              static_cast<double>(link_bytes_per_second));
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(least));
  }
  return true;
}

}  // namespace

bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions,
              std::uint64_t link_bytes_per_second) {
  return run(Listed{batch}, regions, link_bytes_per_second);
}

bool run_copy(const BlockCopy& blocks, const PieceRange& pieces, const MappedRegions& regions,
              std::uint64_t link_bytes_per_second) {
  return run(Computed{blocks, pieces}, regions, link_bytes_per_second);
}

bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions) {
  if (regions.poisoned.touches(dst, bytes)) return false;
  bulk_zero(kernel_view(dst), bytes);
  bulk_finish();
  return true;
}

}  // namespace aqua::device
