#include "device/memfd_range.hpp"

#include <iterator>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/memfd_limits.hpp"

namespace aqua::device {

MemfdRange::MemfdRange(Reservation reservation, std::shared_ptr<const Capacity> device,
                       std::shared_ptr<MappedRegions> regions)
    : AddressRange(reservation.base(), reservation.bytes()),
      reservation_(std::move(reservation)),
      device_(std::move(device)),
      regions_(std::move(regions)) {}

MemfdRange::~MemfdRange() {
  for (const auto& [offset, size] : mapped_) forget(offset, size);
}

Result<void> MemfdRange::check_place(const char* what, std::size_t offset, std::size_t size) const {
  if (offset % kGranularity != 0 || size % kGranularity != 0 || size == 0) {
    return Error{Code::invalid_argument, concat(what, ": offset ", offset, ", ", size,
                                                " bytes: not multiples of ", kGranularity)};
  }
  if (offset > bytes() || size > bytes() - offset) {
    return Error{Code::invalid_argument, concat(what, ": offset ", offset, ", ", size,
                                                " bytes: past the range's ", bytes())};
  }
  return {};
}

Result<void> MemfdRange::map(std::size_t offset, const MemfdSlab& slab) {
  const std::size_t size = slab.bytes();
  AQUA_TRY(check_place("map", offset, size));
  const auto next = mapped_.lower_bound(offset);
  const bool meets_next = next != mapped_.end() && next->first < offset + size;
  const bool meets_previous =
      next != mapped_.begin() && std::prev(next)->first + std::prev(next)->second > offset;
  if (meets_next || meets_previous) {
    return Error{Code::failed_precondition,
                 concat("map: something is mapped between offsets ", offset, " and ", offset + size,
                        "; unmap it first")};
  }
  const bool imported = slab.owner() == nullptr;
  AQUA_TRY(reservation_.map_file(offset, slab.fd(), size, !imported));
  mapped_.emplace(offset, size);
  if (slab.owner() == device()) regions_->own.add(base() + offset, size);
  return {};
}

Result<void> MemfdRange::unmap(std::size_t offset, std::size_t size) {
  AQUA_TRY(check_place("unmap", offset, size));
  const auto found = mapped_.find(offset);
  if (found == mapped_.end()) {
    return Error{Code::failed_precondition, concat("unmap: no slab starts at offset ", offset)};
  }
  if (found->second != size) {
    return Error{Code::invalid_argument, concat("unmap: the slab at offset ", offset, " has ",
                                                found->second, " bytes, not ", size)};
  }
  AQUA_TRY(reservation_.clear(offset, size));
  mapped_.erase(found);
  forget(offset, size);
  return {};
}

void MemfdRange::forget(std::size_t offset, std::size_t size) {
  regions_->own.remove(base() + offset, size);
  regions_->poisoned.remove(base() + offset, size);
}

}  // namespace aqua::device
