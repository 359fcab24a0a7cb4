// SPDX-License-Identifier: Apache-2.0
#include "device/work_checks.hpp"

#include <algorithm>
#include <cstdint>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::device {
namespace {

// 1 for a range of no bytes, or one that neither begins at null nor wraps; else 0. Computed without
// a branch, since a batch may be of many thousand ranges.
unsigned valid_range(const std::byte* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const unsigned empty = bytes == 0 ? 1 : 0;
  const unsigned null = begin == 0 ? 1 : 0;
  const unsigned wraps = begin + bytes < begin ? 1 : 0;
  return empty | (1 ^ (null | wraps));
}

unsigned valid(const CopySegment& s) {
  return valid_range(s.dst, s.bytes) & valid_range(s.src, s.bytes);
}

}  // namespace

Result<void> check_batch(const CopyBatch& batch) {
  if (batch == nullptr || batch->empty()) {
    return Error{Code::invalid_argument, "copy: the batch has no segment"};
  }
  unsigned all = 1;
  for (const CopySegment& s : *batch) all &= valid(s);
  if (all == 1) return {};
  const auto first = std::ranges::find(*batch, 0U, valid);
  return Error{Code::invalid_argument,
               concat("copy: segment ", first - batch->begin(), ": ", first->bytes,
                      " bytes from or to a null address, or past the last one")};
}

Result<void> check_scrub(const std::byte* dst, std::size_t bytes) {
  if (valid_range(dst, bytes) == 1) return {};
  return Error{Code::invalid_argument,
               concat("scrub: ", bytes, " bytes at a null address, or past the last one")};
}

Result<void> check_destinations(std::span<const CopySegment> batch, const RegionSet& read_only) {
  if (read_only.empty()) return {};
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;
  for (const CopySegment& s : batch) {
    if (s.bytes == 0) continue;
    first = first == nullptr ? s.dst : std::min<const std::byte*>(first, s.dst);
    last = std::max<const std::byte*>(last, s.dst + s.bytes);
  }
  if (!read_only.touches(first, static_cast<std::size_t>(last - first))) return {};
  for (const CopySegment& s : batch) AQUA_TRY(check_destination("copy", s.dst, s.bytes, read_only));
  return {};
}

Result<void> check_destination(const char* what, const std::byte* dst, std::size_t bytes,
                               const RegionSet& read_only) {
  if (!read_only.touches(dst, bytes)) return {};
  return Error{Code::permission_denied,
               concat(what, ": ", bytes, " bytes to memory that is mapped read-only")};
}

Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity) {
  if (bytes > 0 && bytes % granularity == 0) return {};
  return Error{Code::invalid_argument,
               concat(what, ": ", bytes, " bytes: not a positive multiple of ", granularity)};
}

Result<void> check_timed(bool timed, bool recorded) {
  if (!timed) return Error{Code::invalid_argument, "elapsed: an event that is not timed"};
  if (!recorded) return Error{Code::failed_precondition, "elapsed: an event was never recorded"};
  return {};
}

Error not_reached() {
  return Error{Code::unavailable, "elapsed: work before one of the events has not ended"};
}

Error not_ours(const char* what, const char* object) {
  return Error{Code::invalid_argument, concat(what, ": the ", object, " is not this device's")};
}

}  // namespace aqua::device
