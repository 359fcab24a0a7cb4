// SPDX-License-Identifier: Apache-2.0
// SlabArena maps slabs whole and side by side into one reserved range of addresses, so that
// an allocation may span neighbours. A hole left by an unmapped slab is filled by the next.
//
// Threads: concurrent calls are fine; the lock is held across map and unmap calls (host
//          calls of microseconds), never across work on a stream.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.hpp"
#include "device/device.hpp"

namespace aqua::lending {

class SlabArena {
 public:
  // `device` must outlive the arena.
  [[nodiscard]] static Result<std::unique_ptr<SlabArena>> reserve(device::Device& device,
                                                                  std::size_t bytes);

  // Maps `slab` at the lowest hole that takes it and returns its offset.
  // resource_exhausted when no hole does.
  [[nodiscard]] Result<std::size_t> map(const device::Slab& slab);
  // Every event of work on the slab has been seen complete. not_found unless a slab was
  // mapped at exactly this offset.
  [[nodiscard]] Result<void> unmap(std::size_t offset);

  [[nodiscard]] std::byte* base() const noexcept { return range_->base(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return range_->bytes(); }

 private:
  SlabArena(device::Device& device, std::unique_ptr<device::AddressRange> range);

  device::Device& device_;
  mutable Mutex mu_;
  std::unique_ptr<device::AddressRange> range_;  // the pointer is fixed; mapping under mu_
  std::map<std::size_t, std::size_t> mapped_ AQUA_GUARDED_BY(mu_);  // offset -> bytes
  std::size_t full_to_ AQUA_GUARDED_BY(mu_) = 0;                    // there is no hole before
};

}  // namespace aqua::lending
