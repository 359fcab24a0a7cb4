// SPDX-License-Identifier: Apache-2.0
// Which addresses a kernel of ours may touch. A kernel that follows an address of pageable host
// memory kills the context, and the engine's work with it; so every one is looked up first.
//
// Drivers are asked together only for what cuda.h lists for that call. What it does not list (the
// access, and how much of a reservation is mapped) is asked for by itself, and a refusal leaves
// what the list says: then memory of this GPU or page-locked host memory counts as reachable where
// it is mapped, a granule around the address at a time.
//
// One object serves one batch on one thread, inside a CudaContext::Scope: it remembers the
// allocations that it has met, so that thousands of blocks in a few hundred allocations cost
// little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "device/region_set.hpp"

namespace aqua::device {

class CudaReach {
 public:
  // `ours`: what this device has mapped or registered itself.
  CudaReach(const CudaDriver& driver, const RegionSet& ours) : driver_(driver), ours_(ours) {}

  // True when the current context's GPU can read and write all of it.
  [[nodiscard]] bool covers(std::span<const CopySegment> runs);

 private:
  using Range = std::pair<std::uintptr_t, std::uintptr_t>;  // [first, second)
  // `last`: the allocation that the run before it met on this side, where most runs lie as well.
  [[nodiscard]] bool covers(const std::byte* address, std::size_t bytes, Range& last);
  [[nodiscard]] Range ask(const std::byte* address) const;  // empty when it is out of reach
  [[nodiscard]] Range ask_driver(CUdeviceptr address) const;

  const CudaDriver& driver_;
  const RegionSet& ours_;
  std::vector<Range> known_;  // ascending
};

// Whether the GPU of the current context knows host memory by the address that the host has for it.
// Where it does not, a kernel that follows the host's address kills the context.
[[nodiscard]] bool same_on_device(const CudaDriver& driver, const std::byte* address);

}  // namespace aqua::device
