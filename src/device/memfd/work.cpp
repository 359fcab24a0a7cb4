// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/work.hpp"

#include <chrono>
#include <thread>

#include "device/memfd/bulk_copy.hpp"
#include "device/memfd/device.hpp"

namespace aqua::device {
namespace {

void copy_segments(const std::vector<CopySegment>& batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::byte* next = i + 1 < batch.size() ? kernel_view(batch[i + 1].src) : nullptr;
    bulk_copy(kernel_view(batch[i].dst), kernel_view(batch[i].src), batch[i].bytes, next);
  }
  bulk_finish();
}

}  // namespace

bool run_copy(const std::vector<CopySegment>& batch, const MappedRegions& regions, Links& links) {
  for (const CopySegment& s : batch) {
    if (regions.poisoned.touches(s.dst, s.bytes) || regions.poisoned.touches(s.src, s.bytes)) {
      return false;
    }
  }
  if (!links.paced()) {
    copy_segments(batch);
    return true;
  }
  const auto over = links.take(crossing(batch, regions), std::chrono::steady_clock::now());
  copy_segments(batch);
  std::this_thread::sleep_until(over);
  return true;
}

bool run_scrub(std::byte* dst, std::size_t bytes, const MappedRegions& regions) {
  if (regions.poisoned.touches(dst, bytes)) return false;
  bulk_zero(kernel_view(dst), bytes);
  bulk_finish();
  return true;
}

}  // namespace aqua::device
