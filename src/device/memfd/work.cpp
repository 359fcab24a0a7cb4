// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/work.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/memfd/bulk_copy.hpp"
#include "device/memfd/device.hpp"

namespace aqua::device {
namespace {

using Clock = std::chrono::steady_clock;

using Seconds = std::chrono::duration<double>;

enum class Link : std::uint8_t { none, peer, host };

Link link_to(const std::byte* end, std::size_t bytes, const MappedRegions& regions) {
  if (regions.own.covers(end, bytes)) return Link::none;
  return regions.imported.covers(end, bytes) ? Link::peer : Link::host;
}

Seconds least_time(const std::vector<CopySegment>& batch, const MappedRegions& regions,
                   const LinkPace& pace) {
  const auto time = [](std::uint64_t bytes, std::uint64_t rate) {
    return Seconds(rate > 0 ? static_cast<double>(bytes) / static_cast<double>(rate) : 0);
  };
  Seconds least{0};
  for (const CopySegment& s : batch) {
    const Link slower =
        std::max(link_to(s.dst, s.bytes, regions), link_to(s.src, s.bytes, regions));
    if (slower == Link::peer) least += time(s.bytes, pace.peer);
    if (slower == Link::host) least += time(s.bytes, pace.host);
  }
  return least;
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
              const LinkPace& pace) {
  const Clock::time_point start = Clock::now();
  for (const CopySegment& s : batch) {
    if (regions.poisoned.touches(s.dst, s.bytes) || regions.poisoned.touches(s.src, s.bytes)) {
      return false;
    }
  }
  copy_segments(batch);
  if (pace.peer > 0 || pace.host > 0) {
    const Seconds least = least_time(batch, regions, pace);
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
