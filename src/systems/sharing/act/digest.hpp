// SPDX-License-Identifier: Apache-2.0
// Digests of published memory, read through a buffer in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/sharing/manifest.hpp"

namespace aqua::sharing {

class Digester {
 public:
  explicit Digester(const PublishedMemory& memory) : memory_(memory), buffer_(kBufferBytes) {}
  // The digest of these bytes; blocks.
  [[nodiscard]] Result<Digest> digest(std::uint64_t offset, std::uint64_t bytes);

 private:
  static constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
  const PublishedMemory& memory_;
  std::vector<std::byte> buffer_;
};

}  // namespace aqua::sharing
