// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/digest.hpp"

#include <algorithm>

#include "base/try.hpp"
#include "base/xxh3.hpp"

namespace aqua::sharing {

Result<Digest> Digester::digest(std::uint64_t offset, std::uint64_t bytes) {
  Xxh3 hash;
  while (bytes > 0) {
    const std::size_t part = std::min<std::uint64_t>(bytes, buffer_.size());
    AQUA_TRY(memory_.read(offset, buffer_.data(), part));
    hash.add({buffer_.data(), part});
    offset += part;
    bytes -= part;
  }
  return Digest{hash.value()};
}

}  // namespace aqua::sharing
