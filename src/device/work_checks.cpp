// SPDX-License-Identifier: Apache-2.0
#include "device/work_checks.hpp"

#include <cstdint>
#include <limits>

#include "base/concat.hpp"

namespace aqua::device {
namespace {

bool valid_range(const std::byte* address, std::size_t bytes) {
  if (bytes == 0) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return begin != 0 && bytes <= std::numeric_limits<std::uintptr_t>::max() - begin;
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

Result<void> check_size(const char* what, std::size_t bytes, std::size_t granularity) {
  if (bytes > 0 && bytes % granularity == 0) return {};
  return Error{Code::invalid_argument,
               concat(what, ": ", bytes, " bytes: not a positive multiple of ", granularity)};
}

Error not_ours(const char* what, const char* object) {
  return Error{Code::invalid_argument, concat(what, ": the ", object, " is not this device's")};
}

}  // namespace aqua::device
