// SPDX-License-Identifier: Apache-2.0
#include "tensor/dirty_chunks.hpp"

#include <algorithm>

namespace aqua::tensor {

void DirtyChunks::mark(std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t end = (offset + bytes - 1) / kChunkBytes + 1;
  for (std::size_t chunk = offset / kChunkBytes; chunk < end; ++chunk) dirty_[chunk] = true;
  any_ = true;
}

void DirtyChunks::clear() {
  dirty_.assign((bytes_ + kChunkBytes - 1) / kChunkBytes, false);
  any_ = false;
}

std::vector<device::CopySegment> DirtyChunks::take(std::byte* destination,
                                                   const std::byte* source) {
  std::vector<device::CopySegment> copies;
  for (std::size_t chunk = 0; chunk < dirty_.size(); ++chunk) {
    if (!dirty_[chunk]) continue;
    const std::size_t offset = chunk * kChunkBytes;
    const std::size_t bytes = std::min(kChunkBytes, bytes_ - offset);
    if (!copies.empty() && copies.back().src + copies.back().bytes == source + offset) {
      copies.back().bytes += bytes;
    } else {
      copies.push_back({destination + offset, source + offset, bytes});
    }
  }
  clear();
  return copies;
}

}  // namespace aqua::tensor
