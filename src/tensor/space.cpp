// SPDX-License-Identifier: Apache-2.0
#include "tensor/space.hpp"

#include <cassert>

#include "base/try.hpp"

namespace aqua::tensor {

Result<std::unique_ptr<Space>> Space::create(Tier tier, std::byte* base, std::size_t arena_bytes) {
  AQUA_ASSIGN(auto allocator, lending::Suballocator::create(arena_bytes));
  return std::unique_ptr<Space>(new Space(tier, base, std::move(allocator)));
}

Result<lending::Allocation> Space::allocate(std::size_t bytes) {
  const MutexLock lock(mu_);
  return allocator_.allocate(bytes);
}

void Space::free(const lending::Allocation& allocation) {
  std::weak_ptr<TensorEntry> owner;  // destroyed outside the lock: the last one frees memory
  const MutexLock lock(mu_);
  if (allocation.node < owners_.size()) owner = std::move(owners_[allocation.node]);
  [[maybe_unused]] const auto freed = allocator_.free(allocation);
  assert(freed.ok());
}

void Space::set_owner(const lending::Allocation& allocation, std::weak_ptr<TensorEntry> owner) {
  const MutexLock lock(mu_);
  if (allocation.node >= owners_.size()) owners_.resize(allocation.node + std::size_t{1});
  owners_[allocation.node] = std::move(owner);
}

Result<void> Space::add_slab(std::size_t offset, std::size_t bytes) {
  const MutexLock lock(mu_);
  return allocator_.add_region(offset, bytes);
}

Result<void> Space::retire_slab(std::size_t offset, std::size_t bytes) {
  const MutexLock lock(mu_);
  return allocator_.retire_region(offset, bytes);
}

Result<void> Space::remove_slab(std::size_t offset, std::size_t bytes) {
  const MutexLock lock(mu_);
  return allocator_.remove_region(offset, bytes);
}

bool Space::slab_empty(std::size_t offset, std::size_t bytes) const {
  const MutexLock lock(mu_);
  return allocator_.region_empty(offset, bytes);
}

std::vector<std::shared_ptr<TensorEntry>> Space::tensors_in(std::size_t offset,
                                                            std::size_t bytes) const {
  std::vector<std::shared_ptr<TensorEntry>> tensors;
  const MutexLock lock(mu_);
  for (const lending::Allocation& allocation : allocator_.allocations_in(offset, bytes)) {
    if (allocation.node >= owners_.size()) continue;
    if (auto owner = owners_[allocation.node].lock()) tensors.push_back(std::move(owner));
  }
  return tensors;
}

lending::SuballocatorStats Space::stats() const {
  const MutexLock lock(mu_);
  return allocator_.stats();
}

}  // namespace aqua::tensor
