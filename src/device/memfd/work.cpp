// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/work.hpp"

#include <chrono>
#include <thread>

#include "device/memfd/bulk_copy.hpp"
#include "device/memfd/device.hpp"

namespace aqua::device {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t linked_bytes(const std::vector<CopySegment>& batch, const RegionSet& own) {
  std::uint64_t total = 0;
  for (const CopySegment& s : batch) {
    if (!own.covers(s.dst, s.bytes) || !own.covers(s.src, s.bytes)) total += s.bytes;
  }
  return total;
}

void copy_segments(const std::vector<CopySegment>& batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::byte* next = i + 1 < batch.size() ? kernel_view(batch[i + 1].src) : nullptr;
    bulk_copy(kernel_view(batch[i].dst), kernel_view(batch[i].src), batch[i].bytes, next);
  }
  bulk_finish();
}

}  // namespace

bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions,
              std::uint64_t link_bytes_per_second) {
  const Clock::time_point start = Clock::now();
  for (const CopySegment& s : batch) {
    if (regions.poisoned.touches(s.dst, s.bytes) || regions.poisoned.touches(s.src, s.bytes)) {
      return false;
    }
  }
  copy_segments(batch);
  if (link_bytes_per_second > 0) {
    const std::chrono::duration<double> least(
        static_cast<double>(linked_bytes(batch, regions.own)) /
        static_cast<double>(link_bytes_per_second));
    std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(least));
  }
  return true;
}

bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions) {
  if (regions.poisoned.touches(dst, bytes)) return false;
  bulk_zero(kernel_view(dst), bytes);
  bulk_finish();
  return true;
}

}  // namespace aqua::device
