// SPDX-License-Identifier: Apache-2.0
// Space: the memory of one tier, as one range of addresses in which slabs come and go and
// tensors are placed.
//
// Threads: every method may be called concurrently; calls take about a hundred nanoseconds
//          and touch no device.
#pragma once

#include <memory>
#include <vector>

#include "aqua/types.hpp"
#include "base/mutex.hpp"
#include "lending/suballocator.hpp"

namespace aqua {
namespace detail {
class TensorEntry;
}
using detail::TensorEntry;
}  // namespace aqua

namespace aqua::tensor {

class Space {
 public:
  // `base` is where offset 0 of the arena lies; mapping slabs there is the caller's.
  [[nodiscard]] static Result<std::unique_ptr<Space>> create(Tier tier, std::byte* base,
                                                             std::size_t arena_bytes);

  [[nodiscard]] Result<lending::Allocation> allocate(std::size_t bytes);
  void free(const lending::Allocation& allocation);
  // Who lives in an allocation, so that an evacuation can find its tensors.
  void set_owner(const lending::Allocation& allocation, std::weak_ptr<TensorEntry> owner);

  [[nodiscard]] Result<void> add_slab(std::size_t offset, std::size_t bytes);
  // No new tensor is placed there; those that are stay until they leave.
  [[nodiscard]] Result<void> retire_slab(std::size_t offset, std::size_t bytes);
  // Forgets a retired slab that nobody touches; failed_precondition otherwise.
  [[nodiscard]] Result<void> remove_slab(std::size_t offset, std::size_t bytes);
  [[nodiscard]] bool slab_empty(std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] std::vector<std::shared_ptr<TensorEntry>> tensors_in(std::size_t offset,
                                                                     std::size_t bytes) const;

  [[nodiscard]] Tier tier() const noexcept { return tier_; }
  [[nodiscard]] std::byte* address(const lending::Allocation& allocation) const noexcept {
    return base_ + allocation.offset;
  }
  [[nodiscard]] lending::SuballocatorStats stats() const;

 private:
  Space(Tier tier, std::byte* base, lending::Suballocator allocator)
      : tier_(tier), base_(base), allocator_(std::move(allocator)) {}

  const Tier tier_;
  std::byte* const base_;
  mutable Mutex mu_;
  lending::Suballocator allocator_ AQUA_GUARDED_BY(mu_);
  std::vector<std::weak_ptr<TensorEntry>> owners_ AQUA_GUARDED_BY(mu_);  // by Allocation::node
};

}  // namespace aqua::tensor
