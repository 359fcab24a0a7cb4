// SPDX-License-Identifier: Apache-2.0
#include "device/slab_places.hpp"

#include <iterator>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::device {

Result<void> SlabPlaces::check_place(const char* what, std::size_t offset,
                                     std::size_t bytes) const {
  if (offset % granularity_ != 0 || bytes % granularity_ != 0 || bytes == 0) {
    return Error{Code::invalid_argument, concat(what, ": offset ", offset, ", ", bytes,
                                                " bytes: not multiples of ", granularity_)};
  }
  if (offset > range_bytes_ || bytes > range_bytes_ - offset) {
    return Error{Code::invalid_argument, concat(what, ": offset ", offset, ", ", bytes,
                                                " bytes: past the range's ", range_bytes_)};
  }
  return {};
}

Result<void> SlabPlaces::check_free(std::size_t offset, std::size_t bytes) const {
  AQUA_TRY(check_place("map", offset, bytes));
  const auto next = mapped_.lower_bound(offset);
  const bool meets_next = next != mapped_.end() && next->first < offset + bytes;
  const bool meets_previous =
      next != mapped_.begin() && std::prev(next)->first + std::prev(next)->second > offset;
  if (!meets_next && !meets_previous) return {};
  return Error{Code::failed_precondition,
               concat("map: something is mapped between offsets ", offset, " and ", offset + bytes,
                      "; unmap it first")};
}

Result<void> SlabPlaces::check_taken(std::size_t offset, std::size_t bytes) const {
  AQUA_TRY(check_place("unmap", offset, bytes));
  const auto found = mapped_.find(offset);
  if (found == mapped_.end()) {
    return Error{Code::failed_precondition, concat("unmap: no slab starts at offset ", offset)};
  }
  if (found->second != bytes) {
    return Error{Code::invalid_argument, concat("unmap: the slab at offset ", offset, " has ",
                                                found->second, " bytes, not ", bytes)};
  }
  return {};
}

}  // namespace aqua::device
