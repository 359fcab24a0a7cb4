// SPDX-License-Identifier: Apache-2.0
// A reserved range of a memfd device and the slabs mapped in it.
#pragma once

#include <cstddef>
#include <memory>

#include "device/memfd/reservation.hpp"
#include "device/memfd/slab.hpp"
#include "device/region_set.hpp"
#include "device/slab_places.hpp"

namespace aqua::device {

// What is known of a device's mapped addresses; shared by the device, its ranges and its
// work in flight.
struct MappedRegions {
  RegionSet own;       // memory of this device: no link lies between
  RegionSet others;    // slabs of other devices
  RegionSet poisoned;  // dead until it is unmapped
  RegionSet read_only;
};

class MemfdRange final : public AddressRange {
 public:
  // `device` is the capacity of the device whose range this is: its identity.
  MemfdRange(Reservation reservation, std::shared_ptr<const Capacity> device,
             std::shared_ptr<MappedRegions> regions);
  ~MemfdRange() override;

  [[nodiscard]] const Capacity* device() const noexcept { return device_.get(); }
  // Device::map and Device::unmap.
  [[nodiscard]] Result<void> map(std::size_t offset, const MemfdSlab& slab, MapAccess access);
  [[nodiscard]] Result<void> unmap(std::size_t offset, std::size_t bytes);

 private:
  void forget(std::size_t offset, std::size_t bytes);

  Reservation reservation_;
  SlabPlaces places_;
  const std::shared_ptr<const Capacity> device_;
  const std::shared_ptr<MappedRegions> regions_;
};

}  // namespace aqua::device
