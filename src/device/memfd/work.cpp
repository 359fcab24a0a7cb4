// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/work.hpp"

#include <chrono>
#include <thread>

#include "device/memfd/bulk_copy.hpp"
#include "device/memfd/device.hpp"
#include "device/pieces.hpp"

namespace aqua::device {
namespace {

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
bool run(const Each& each, const MappedRegions& regions, Links& links) {
  bool poisoned = false;
  Crossing crossed{};
  const bool paced = links.paced();
  each([&](const CopySegment& s) {
    poisoned |=
        regions.poisoned.touches(s.dst, s.bytes) || regions.poisoned.touches(s.src, s.bytes);
    if (paced) add_crossing(crossed, s, regions);
  });
  if (poisoned) return false;
  if (!paced) {
    copy_segments(each);
    return true;
  }
  const auto over = links.take(crossed, std::chrono::steady_clock::now());
  copy_segments(each);
  std::this_thread::sleep_until(over);
  return true;
}

}  // namespace

bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions, Links& links) {
  return run(Listed{batch}, regions, links);
}

bool run_copy(const BlockCopy& blocks, const PieceRange& pieces, const MappedRegions& regions,
              Links& links) {
  return run(Computed{blocks, pieces}, regions, links);
}

bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions) {
  if (regions.poisoned.touches(dst, bytes)) return false;
  bulk_zero(kernel_view(dst), bytes);
  bulk_finish();
  return true;
}

}  // namespace aqua::device
