// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/range.hpp"

#include <utility>

#include "base/try.hpp"
#include "device/memfd/limits.hpp"

namespace aqua::device {

MemfdRange::MemfdRange(Reservation reservation, std::shared_ptr<const Capacity> device,
                       std::shared_ptr<MappedRegions> regions)
    : AddressRange(reservation.base(), reservation.bytes()),
      reservation_(std::move(reservation)),
      places_(bytes(), kGranularity),
      device_(std::move(device)),
      regions_(std::move(regions)) {}

MemfdRange::~MemfdRange() {
  for (const auto& [offset, size] : places_.all()) forget(offset, size);
}

Result<void> MemfdRange::map(std::size_t offset, const MemfdSlab& slab, MapAccess access) {
  const std::size_t size = slab.bytes();
  AQUA_TRY(places_.check_free(offset, size));
  const bool imported = slab.owner() == nullptr;
  const bool writable = access == MapAccess::read_write;
  AQUA_TRY(slab.state().check_map(access));
  AQUA_TRY(reservation_.map_file(offset, slab.fd(access), size, !imported, writable));
  places_.take(offset, size);
  if (!writable) regions_->read_only.add(base() + offset, size);
  (slab.owner() == device() ? regions_->own : regions_->others).add(base() + offset, size);
  return {};
}

Result<void> MemfdRange::unmap(std::size_t offset, std::size_t size) {
  AQUA_TRY(places_.check_taken(offset, size));
  AQUA_TRY(reservation_.clear(offset, size));
  places_.release(offset);
  forget(offset, size);
  return {};
}

void MemfdRange::forget(std::size_t offset, std::size_t size) {
  regions_->own.remove(base() + offset, size);
  regions_->others.remove(base() + offset, size);
  regions_->poisoned.remove(base() + offset, size);
  regions_->read_only.remove(base() + offset, size);
}

}  // namespace aqua::device
