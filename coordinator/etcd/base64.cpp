// SPDX-License-Identifier: Apache-2.0
#include "coordinator/etcd/base64.hpp"

#include <openssl/evp.h>

namespace aqua::coordinator::etcd {
namespace {

const unsigned char* unsigned_of(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* unsigned_of(std::string& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // OpenSSL ends it with a zero
  const int length =
      ::EVP_EncodeBlock(unsigned_of(text), unsigned_of(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes(3 * (text.size() / 4), '\0');
  const int length =
      ::EVP_DecodeBlock(unsigned_of(bytes), unsigned_of(text), static_cast<int>(text.size()));
  if (length < static_cast<int>(padding)) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(length) - padding);
  // OpenSSL passes over blanks, takes padding in the middle, and bits that padding leaves over.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace aqua::coordinator::etcd
