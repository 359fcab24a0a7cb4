// SPDX-License-Identifier: Apache-2.0
#include "tools/keeper/disk/record.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/concat.hpp"

namespace aqua::keeper::blob_log {
namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::array<char, 8> kMagic{'A', 'Q', 'U', 'A', 'B', 'L', 'O', 'G'};
constexpr std::uint64_t kVersion = 1;
constexpr std::uint32_t kRecordMagic = 0x72706B61;

struct RawFileHead {
  std::array<char, 8> magic;
  std::uint64_t version;
  Nonce nonce;
};
static_assert(sizeof(RawFileHead) == kFileHeadBytes);

// The head of a record as it lies in the file.
struct RawHead {
  std::uint32_t magic, kind, key_bytes, zero;
  std::uint64_t body_bytes, synced, key_hash, body_hash;
  std::uint64_t hash;  // of all before
};
static_assert(sizeof(RawHead) == kRecordHeadBytes);

std::uint64_t hash_of_head(const RawHead& raw, Nonce nonce) {
  return XXH3_64bits_withSeed(&raw, offsetof(RawHead, hash), nonce);
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_INITSTATE(&state_->xxh);
  XXH3_64bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t Hasher::value() const {
  return XXH3_64bits_digest(&state_->xxh);
}

std::uint64_t hash_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::array<std::byte, kFileHeadBytes> encode_file_head(Nonce nonce) {
  return std::bit_cast<std::array<std::byte, kFileHeadBytes>>(RawFileHead{kMagic, kVersion, nonce});
}

Result<Nonce> decode_file_head(std::span<const std::byte, kFileHeadBytes> bytes) {
  RawFileHead raw;
  std::memcpy(&raw, bytes.data(), sizeof(raw));
  // Version 0 is a head of which a power cut has left the beginning.
  if (raw.magic != kMagic || raw.version == 0)
    return Error{Code::invalid_argument, "not a file of a blob log"};
  if (raw.version == kVersion) return raw.nonce;
  return Error{Code::failed_precondition, concat("a blob log of version ", raw.version,
                                                 ", and this program reads ", kVersion)};
}

bool may_be_left_of_file_head(std::span<const std::byte> bytes) {
  const auto head = encode_file_head(0);
  const std::size_t known = std::min(bytes.size(), offsetof(RawFileHead, nonce));
  for (std::size_t i = 0; i < known; ++i) {
    if (bytes[i] != std::byte{0} && bytes[i] != head[i]) return false;
  }
  return bytes.size() <= head.size();
}

std::array<std::byte, kRecordHeadBytes> encode(const RecordHead& head, Nonce nonce) {
  RawHead raw{.magic = kRecordMagic,
              .kind = static_cast<std::uint32_t>(head.kind),
              .key_bytes = head.key_bytes,
              .zero = 0,
              .body_bytes = head.body_bytes,
              .synced = head.synced,
              .key_hash = head.key_hash,
              .body_hash = head.body_hash,
              .hash = 0};
  raw.hash = hash_of_head(raw, nonce);
  return std::bit_cast<std::array<std::byte, kRecordHeadBytes>>(raw);
}

std::optional<RecordHead> decode(std::span<const std::byte, kRecordHeadBytes> bytes, Nonce nonce) {
  RawHead raw;
  std::memcpy(&raw, bytes.data(), sizeof(raw));
  const bool right =
      raw.magic == kRecordMagic && raw.hash == hash_of_head(raw, nonce) && raw.zero == 0;
  if (!right || raw.key_bytes == 0 || raw.key_bytes > kMostKeyBytes) return std::nullopt;
  if (raw.kind != static_cast<std::uint32_t>(Kind::put) &&
      (raw.kind != static_cast<std::uint32_t>(Kind::erase) || raw.body_bytes != 0)) {
    return std::nullopt;
  }
  if (raw.body_bytes > kMostBodyBytes) return std::nullopt;
  return RecordHead{.kind = static_cast<Kind>(raw.kind),
                    .key_bytes = raw.key_bytes,
                    .body_bytes = raw.body_bytes,
                    .synced = raw.synced,
                    .key_hash = raw.key_hash,
                    .body_hash = raw.body_hash};
}

}  // namespace aqua::keeper::blob_log
