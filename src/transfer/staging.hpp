// SPDX-License-Identifier: Apache-2.0
// StagingPool lends pairs of equal buffers of device memory, each with a stream of its
// own, for transfers that go through staging: one buffer fills while the other drains.
//
// Threads: every method may be called concurrently. A lease is its holder's.
// Owns:    the memory, mapped when first wanted and kept. Leases must end before the pool.
// Units:   bytes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "base/mutex.hpp"
#include "device/device.hpp"
#include "device/own_stream.hpp"

namespace aqua::transfer {

struct StagingOptions {
  std::size_t buffer_bytes = std::size_t{32} << 20;  // rounded up to the device's granularity
  // Transfers that can be staged at the same time, two buffers each: enough for one in each
  // direction.
  unsigned pairs = 2;
  // Overwrite buffers with kStagingPoison when they come back, so that a read of bytes
  // that were never filled shows. For tests.
  bool poison_on_release = false;
};

inline constexpr std::byte kStagingPoison{0xDB};

// Two buffers and the stream that serves them.
struct StagingPair {
  std::unique_ptr<device::Slab> slab;
  std::unique_ptr<device::AddressRange> range;
  std::array<std::byte*, 2> buffers{};
  std::size_t buffer_bytes = 0;
  device::OwnStream stream;  // waits for its work when it goes
  // The buffers may be written after this point (the poisoning of the last release). Goes before
  // its stream.
  std::unique_ptr<device::Event> ready;
};

class StagingPool;

// Move-only. The holder ends it only once its own work on the buffers is over.
class StagingLease {
 public:
  StagingLease() = default;
  StagingLease(StagingLease&& other) noexcept;
  StagingLease& operator=(StagingLease&& other) noexcept;
  ~StagingLease() { reset(); }
  void reset() noexcept;
  [[nodiscard]] bool held() const noexcept { return pair_ != nullptr; }
  [[nodiscard]] const StagingPair* get() const noexcept { return pair_.get(); }  // null: not held
  [[nodiscard]] const StagingPair& operator*() const noexcept { return *pair_; }
  [[nodiscard]] const StagingPair* operator->() const noexcept { return pair_.get(); }

 private:
  friend class StagingPool;
  StagingLease(StagingPool& pool, std::unique_ptr<StagingPair> pair) noexcept;
  StagingPool* pool_ = nullptr;
  std::unique_ptr<StagingPair> pair_;
};

class StagingPool {
 public:
  StagingPool(device::Device& device, const StagingOptions& options);
  StagingPool(const StagingPool&) = delete;
  StagingPool& operator=(const StagingPool&) = delete;

  // resource_exhausted when every pair is lent or the device has no memory for one more.
  // Never waits.
  [[nodiscard]] Result<StagingLease> acquire();

 private:
  friend class StagingLease;
  [[nodiscard]] Result<std::unique_ptr<StagingPair>> create_pair();
  void poison(StagingPair& pair);
  void give_back(std::unique_ptr<StagingPair> pair) noexcept;

  device::Device& device_;
  const StagingOptions options_;
  Mutex mu_;
  unsigned created_ AQUA_GUARDED_BY(mu_) = 0;
  std::vector<std::unique_ptr<StagingPair>> idle_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::transfer
