// SPDX-License-Identifier: Apache-2.0
// DirtyChunks: which parts of a tensor were written while it was being copied.
// Threads: none of its own; its owner's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "device/device.hpp"

namespace aqua::tensor {

class DirtyChunks {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{256}
                                             << 10;  // what a write dirties at least

  // Covers a tensor of `bytes`. clear() comes before the first mark().
  explicit DirtyChunks(std::size_t bytes) : bytes_(bytes) {}

  // All is clean. The only call that allocates here, and only the first time.
  void clear();
  // [offset, offset + bytes), not empty and inside the tensor, was written.
  void mark(std::size_t offset, std::size_t bytes) noexcept;
  [[nodiscard]] bool any() const noexcept { return any_; }

  // The copies from `source` to `destination`, the tensor's two places, that carry the dirty
  // chunks over, neighbours in one; afterwards all is clean.
  [[nodiscard]] std::vector<device::CopySegment> take(std::byte* destination,
                                                      const std::byte* source);

 private:
  std::size_t bytes_;
  std::vector<bool> dirty_;
  bool any_ = false;
};

}  // namespace aqua::tensor
