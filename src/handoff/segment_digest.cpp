// SPDX-License-Identifier: Apache-2.0
#include "handoff/segment_digest.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <iterator>

namespace aqua {

SegmentDigest digest_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  SegmentDigest digest;
  static_assert(sizeof canonical.digest == std::tuple_size_v<SegmentDigest>);
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.begin());
  return digest;
}

}  // namespace aqua
