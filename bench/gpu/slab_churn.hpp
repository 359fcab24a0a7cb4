// SPDX-License-Identifier: Apache-2.0
// Maps and unmaps slabs on a thread of its own, as lending and reclaim do, until destroyed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

namespace aqua::bench {

class SlabChurn {
 public:
  struct Driver;  // the driver's functions, found at run time
  // One slab of 64 MiB is mapped, made accessible and unmapped every `interval`; zero: without
  // pause. The current device's.
  explicit SlabChurn(std::chrono::microseconds interval);
  ~SlabChurn();
  SlabChurn(const SlabChurn&) = delete;
  SlabChurn& operator=(const SlabChurn&) = delete;
  // Slabs mapped and unmapped so far.
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

 private:
  void run(int device, std::chrono::microseconds interval);

  std::unique_ptr<Driver> driver_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::thread thread_;
};

}  // namespace aqua::bench
