// SPDX-License-Identifier: Apache-2.0
// A tensor whose every byte is known: blocks of words that name the tensor, the block's
// version and their place. Reads check them on the stream, long after they were posted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "aqua/tensor.hpp"
#include "device/memfd/device.hpp"

namespace aqua::tensor {

inline constexpr std::size_t kBlockBytes = 16 << 10;
inline constexpr std::size_t kBlockWords = kBlockBytes / sizeof(std::uint64_t);

// What the workers share. The lock covers a pin and what is posted under it, not the work:
// the order of the work is the library's business.
struct Slot {
  std::shared_mutex mu;
  AquaTensor tensor;
  std::uint64_t name = 0;
  bool discardable = false;
  std::uint64_t last_version = 0;
  std::vector<std::uint64_t> versions;  // of each block
};

// Counts checks that failed.
using Mismatches = std::atomic<std::uint64_t>;

// Writes `count` blocks from `first` on, as a new version; by a kernel, or by a copy from
// host memory. The slot is locked for us alone. Errors are those of pin().
[[nodiscard]] Result<void> post_stamps(device::Device& device, Slot& slot, Stream stream,
                                       std::size_t first, std::size_t count, bool by_copy);
// Checks every block; by a kernel, or by a copy to host memory that is checked there. The
// slot is locked for reading.
[[nodiscard]] Result<Pin> post_check(device::Device& device, Slot& slot, Stream stream,
                                     bool by_copy, Mismatches& mismatches);

}  // namespace aqua::tensor
