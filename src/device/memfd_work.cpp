#include "device/memfd_work.hpp"

#include <chrono>
#include <limits>
#include <thread>

#include "base/concat.hpp"
#include "device/bulk_copy.hpp"
#include "device/memfd_device.hpp"

namespace aqua::device {
namespace {

using Clock = std::chrono::steady_clock;

bool valid_range(const std::byte* address, std::size_t bytes) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return begin != 0 && bytes <= std::numeric_limits<std::uintptr_t>::max() - begin;
}

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

Result<void> check_batch(const CopyBatch& batch) {
  if (batch == nullptr || batch->empty()) {
    return Error{Code::invalid_argument, "copy: the batch has no segment"};
  }
  for (std::size_t i = 0; i < batch->size(); ++i) {
    const CopySegment& s = (*batch)[i];
    if (!valid_range(s.dst, s.bytes) || !valid_range(s.src, s.bytes)) {
      return Error{Code::invalid_argument,
                   concat("copy: segment ", i, ": ", s.bytes,
                          " bytes from or to a null address, or past the last one")};
    }
  }
  return {};
}

Result<void> check_scrub(const std::byte* dst, std::size_t bytes) {
  if (valid_range(dst, bytes)) return {};
  return Error{Code::invalid_argument,
               concat("scrub: ", bytes, " bytes at a null address, or past the last one")};
}

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
