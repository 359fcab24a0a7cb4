// SPDX-License-Identifier: Apache-2.0
// MemfdDevice's physical memory and addresses.
#include <chrono>
#include <thread>
#include <utility>

#include "base/try.hpp"
#include "device/memfd/device_impl.hpp"
#include "device/memfd/limits.hpp"
#include "device/memfd/mix.hpp"

namespace aqua::device {

std::size_t MemfdDevice::free_bytes() const {
  return capacity_->free_bytes();
}

Result<std::unique_ptr<Slab>> MemfdDevice::create_slab(std::size_t bytes, SlabUse use) {
  AQUA_TRY(check_size("create_slab", bytes, kGranularity));
  return MemfdSlab::create(capacity_, bytes, options_.touch_slabs, use);
}

Result<WriteProtection> MemfdDevice::seal(Slab& slab) {
  auto* own = dynamic_cast<MemfdSlab*>(&slab);
  if (own == nullptr || own->owner() != capacity_.get()) return not_ours("seal", "slab");
  AQUA_TRY(own->seal());
  return WriteProtection::enforced;
}

Result<UniqueFd> MemfdDevice::export_slab(const Slab& slab) {
  const auto* own = dynamic_cast<const MemfdSlab*>(&slab);
  if (own == nullptr || own->owner() != capacity_.get()) return not_ours("export_slab", "slab");
  return own->duplicate();
}

Result<std::unique_ptr<Slab>> MemfdDevice::import_slab(UniqueFd fd, std::size_t bytes,
                                                       SlabUse use) {
  AQUA_TRY(check_size("import_slab", bytes, kGranularity));
  return MemfdSlab::import(std::move(fd), bytes, use);
}

Result<std::unique_ptr<AddressRange>> MemfdDevice::reserve(std::size_t bytes) {
  AQUA_TRY(check_size("reserve", bytes, kGranularity));
  auto reservation = options_.closed_addresses ? Reservation::closed(bytes, kGranularity)
                                               : Reservation::open(bytes, kGranularity);
  if (!reservation.ok()) return std::move(reservation).error();
  return std::unique_ptr<AddressRange>(
      new MemfdRange(std::move(reservation).value(), capacity_, regions_));
}

Result<void> MemfdDevice::map(AddressRange& range, std::size_t offset, const Slab& slab,
                              MapAccess access) {
  auto* own = own_range(range);
  if (own == nullptr) return not_ours("map", "range");
  const auto* memfd = dynamic_cast<const MemfdSlab*>(&slab);
  if (memfd == nullptr) return not_ours("map", "slab");
  pause();  // the hole is open for a while, as under CUDA
  return own->map(offset, *memfd, access);
}

Result<void> MemfdDevice::unmap(AddressRange& range, std::size_t offset, std::size_t bytes) {
  auto* own = own_range(range);
  if (own == nullptr) return not_ours("unmap", "range");
  return own->unmap(offset, bytes);
}

void MemfdDevice::poison(const std::byte* address, std::size_t bytes) {
  regions_->poisoned.add(address, bytes);
}

MemfdRange* MemfdDevice::own_range(AddressRange& range) const {
  auto* memfd = dynamic_cast<MemfdRange*>(&range);
  return memfd != nullptr && memfd->device() == capacity_.get() ? memfd : nullptr;
}

void MemfdDevice::pause() {
  if (!options_.hostile_seed) return;
  const std::uint64_t roll = mix(*options_.hostile_seed + pauses_.fetch_add(1)) % 50;
  std::this_thread::sleep_for(std::chrono::microseconds(roll));
}

}  // namespace aqua::device
