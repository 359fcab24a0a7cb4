// SPDX-License-Identifier: Apache-2.0
// The records of a BlobLog's files: docs/internals/blob_log.md has the bytes. A file begins with
// kFileHead; a record is a head, the key and the body, each padded with zeroes to 8 bytes.
//
// Threads: plain functions. Pure: no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "aqua/result.hpp"

namespace aqua::keeper::blob_log {

inline constexpr std::size_t kFileHeadBytes = 24;
inline constexpr std::size_t kRecordHeadBytes = 56;
inline constexpr std::size_t kMostKeyBytes = 1024;
inline constexpr std::uint64_t kMostBodyBytes = std::uint64_t{1} << 40;

enum class Kind : std::uint32_t { put = 1, erase = 2 };

struct RecordHead {
  Kind kind = Kind::put;
  std::uint32_t key_bytes = 0;
  std::uint64_t body_bytes = 0;  // 0 of an erase
  // How far this file had been synced when the record was written. What lies below it and cannot be
  // read was once there: that is decay, not the end of what a power cut has left.
  std::uint64_t synced = 0;
  std::uint64_t key_hash = 0;
  std::uint64_t body_hash = 0;
  friend bool operator==(const RecordHead&, const RecordHead&) = default;
};

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}
[[nodiscard]] constexpr std::uint64_t key_offset() {
  return kRecordHeadBytes;
}
[[nodiscard]] constexpr std::uint64_t body_offset(const RecordHead& head) {
  return kRecordHeadBytes + padded(head.key_bytes);
}
// From its first byte to that of the next record.
[[nodiscard]] constexpr std::uint64_t record_bytes(const RecordHead& head) {
  return body_offset(head) + padded(head.body_bytes);
}

// A number that is drawn for each file. Heads are hashed with it, so that no bytes of a blob,
// whoever chose them, can be taken for a record.
using Nonce = std::uint64_t;

[[nodiscard]] std::array<std::byte, kFileHeadBytes> encode_file_head(Nonce nonce);
// failed_precondition: a log of another version. invalid_argument: no log.
[[nodiscard]] Result<Nonce> decode_file_head(std::span<const std::byte, kFileHeadBytes> bytes);
// Whether a power cut may have left these of a file's head: some of its bytes, and zeroes.
[[nodiscard]] bool may_be_left_of_file_head(std::span<const std::byte> bytes);

[[nodiscard]] std::array<std::byte, kRecordHeadBytes> encode(const RecordHead& head, Nonce nonce);
// Nothing for bytes that are no head of this file, whole and unchanged.
[[nodiscard]] std::optional<RecordHead> decode(std::span<const std::byte, kRecordHeadBytes> bytes,
                                               Nonce nonce);

// XXH3, 64 bits; of bytes that come in pieces, and of all at once.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};
[[nodiscard]] std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace aqua::keeper::blob_log
