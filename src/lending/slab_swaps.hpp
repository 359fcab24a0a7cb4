// SPDX-License-Identifier: Apache-2.0
// SlabSwaps maps slabs where others were, in ranges of addresses that stay: what is shared by the
// pools that remap an engine's memory.
//
// Threads: not thread-safe; its owner's lock.
// Owns:    nothing. Ranges and slabs are its owner's.
#pragma once

#include <cstddef>
#include <vector>

#include "device/device.hpp"

namespace aqua::lending {

// One place: what is mapped there and what shall be (null: nothing), of one size.
struct SlabSwap {
  device::AddressRange* range = nullptr;
  std::size_t offset = 0;
  const device::Slab* now = nullptr;
  const device::Slab* next = nullptr;
};

class SlabSwaps {
 public:
  // `owner` begins the messages and, like the device, outlives this.
  SlabSwaps(device::Device& device, const char* owner) : device_(device), owner_(owner) {}

  // All of them or none: after the device's error the places are as they were. All work on them has
  // been seen complete. Where even the way back fails, nobody can say what lies there: then, and
  // in every later call, check_whole() fails.
  [[nodiscard]] Result<void> run(const std::vector<SlabSwap>& swaps);
  // failed_precondition: an earlier change failed and could not be undone.
  [[nodiscard]] Result<void> check_whole() const;

 private:
  [[nodiscard]] Result<void> run_one(const SlabSwap& swap);

  device::Device& device_;
  const char* owner_;
  bool damaged_ = false;  // a place holds neither what it did nor shall
};

}  // namespace aqua::lending
