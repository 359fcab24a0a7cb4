// SPDX-License-Identifier: Apache-2.0
#include "tools/access/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstdlib>

namespace aqua::access {
namespace {

// Looked up once: OpenSSL 3 takes longer to find it than to use it on something short. Never
// freed, because requests may still be served while statics go.
const EVP_MD* sha256() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return found != nullptr ? found : EVP_sha256();
}

}  // namespace

Digest digest_of(std::string_view bytes) {
  Digest digest{};
  // Fails only where OpenSSL was built without SHA-256.
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, sha256(), nullptr) != 1)
    std::abort();
  return digest;
}

bool same_digest(const Digest& a, const Digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<Digest> parse_digest(std::string_view text) {
  Digest digest{};
  return from_hex(text, digest) ? std::optional(digest) : std::nullopt;
}

}  // namespace aqua::access
