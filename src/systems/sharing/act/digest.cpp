// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/act/digest.hpp"

#include <algorithm>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/try.hpp"

namespace aqua::sharing {

Result<Digest> Digester::digest(std::uint64_t offset, std::uint64_t bytes) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_128bits_reset(&state);
  while (bytes > 0) {
    const std::size_t part = std::min<std::uint64_t>(bytes, buffer_.size());
    AQUA_TRY(memory_.read(offset, buffer_.data(), part));
    XXH3_128bits_update(&state, buffer_.data(), part);
    offset += part;
    bytes -= part;
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  Digest digest;
  static_assert(sizeof canonical.digest == std::tuple_size_v<decltype(digest.bytes)>);
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.bytes.begin());
  return digest;
}

}  // namespace aqua::sharing
