// SPDX-License-Identifier: Apache-2.0
#include "base/xxh3.hpp"

#include <algorithm>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace aqua {
namespace {

Xxh3Digest canonical_of(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Xxh3Digest digest;
  static_assert(sizeof canonical.digest == std::tuple_size_v<Xxh3Digest>);
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), digest.begin());
  return digest;
}

}  // namespace

Xxh3Digest xxh3_of(std::span<const std::byte> bytes) {
  return canonical_of(XXH3_128bits(bytes.data(), bytes.size()));
}

struct Xxh3::State {
  XXH3_state_t hash;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->hash);
  XXH3_128bits_reset(&state_->hash);
}
Xxh3::~Xxh3() = default;

void Xxh3::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->hash, bytes.data(), bytes.size());
}

Xxh3Digest Xxh3::value() const {
  return canonical_of(XXH3_128bits_digest(&state_->hash));
}

}  // namespace aqua
