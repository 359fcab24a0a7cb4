// SPDX-License-Identifier: Apache-2.0
#include "device/work_checks.hpp"

#include <algorithm>
#include <cstdint>

#include "base/concat.hpp"

namespace aqua::device {
namespace {

// Without a branch, since a batch may be of many thousand ranges.
bool valid_range(const std::byte* address, std::size_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const bool null = begin == 0;
  const bool wraps = begin + bytes < begin;
  return (bytes == 0) | !(null | wraps);
}

bool valid(const CopySegment& s) {
  return valid_range(s.dst, s.bytes) & valid_range(s.src, s.bytes);
}

}  // namespace

Result<void> check_batch(const CopyBatch& batch) {
  if (batch == nullptr || batch->empty()) {
    return Error{Code::invalid_argument, "copy: the batch has no segment"};
  }
  bool all = true;
  for (const CopySegment& s : *batch) all &= valid(s);
  if (all) return {};
  const auto first = std::ranges::find_if_not(*batch, valid);
  return Error{Code::invalid_argument,
               concat("copy: segment ", first - batch->begin(), ": ", first->bytes,
                      " bytes from or to a null address, or past the last one")};
}

Result<void> check_scrub(const std::byte* dst, std::size_t bytes) {
  if (valid_range(dst, bytes)) return {};
  return Error{Code::invalid_argument,
               concat("scrub: ", bytes, " bytes at a null address, or past the last one")};
}

Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity) {
  if (bytes > 0 && bytes % granularity == 0) return {};
  return Error{Code::invalid_argument,
               concat(what, ": ", bytes, " bytes: not a positive multiple of ", granularity)};
}

Error not_ours(const char* what, const char* object) {
  return Error{Code::invalid_argument, concat(what, ": the ", object, " is not this device's")};
}

}  // namespace aqua::device
