// SPDX-License-Identifier: Apache-2.0
#include "lending/slab_arena.hpp"

#include <algorithm>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::lending {

SlabArena::SlabArena(device::Device& device, std::unique_ptr<device::AddressRange> range)
    : device_(device), range_(std::move(range)) {}

Result<std::unique_ptr<SlabArena>> SlabArena::reserve(device::Device& device, std::size_t bytes) {
  AQUA_ASSIGN(auto range, device.reserve(bytes));
  return std::unique_ptr<SlabArena>(new SlabArena(device, std::move(range)));
}

Result<std::size_t> SlabArena::map(const device::Slab& slab) {
  const MutexLock lock(mu_);
  std::size_t hole = full_to_;
  for (auto next = mapped_.lower_bound(hole); next != mapped_.end(); ++next) {
    const auto [offset, bytes] = *next;
    if (offset - hole >= slab.bytes()) break;
    hole = offset + bytes;
    if (offset == full_to_) full_to_ = hole;
  }
  if (slab.bytes() > range_->bytes() - hole) {
    return Error{Code::resource_exhausted,
                 concat("slab arena: no hole of ", slab.bytes(), " bytes among ", range_->bytes(),
                        " with ", mapped_.size(), " slabs")};
  }
  AQUA_TRY(device_.map(*range_, hole, slab));
  mapped_.emplace(hole, slab.bytes());
  if (hole == full_to_) full_to_ += slab.bytes();
  return hole;
}

Result<void> SlabArena::unmap(std::size_t offset) {
  const MutexLock lock(mu_);
  const auto found = mapped_.find(offset);
  if (found == mapped_.end()) {
    return Error{Code::not_found, concat("slab arena: no slab is mapped at offset ", offset)};
  }
  AQUA_TRY(device_.unmap(*range_, offset, found->second));
  full_to_ = std::min(full_to_, offset);
  mapped_.erase(found);
  return {};
}

}  // namespace aqua::lending
