// SPDX-License-Identifier: Apache-2.0
// SegmentName names what a process has committed in host memory that the keeper has: with it,
// another process of the same user maps the bytes (aqua/handoff/segments.hpp). It is a few numbers,
// which any message carries.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace aqua {

// XXH3, 128 bits, the most significant byte first.
using SegmentDigest = std::array<std::uint8_t, 16>;

struct SegmentName {
  std::uint64_t number = 0;      // of the memory; never given twice by one keeper
  std::uint64_t generation = 0;  // how often that memory has been committed, this time counted
  std::uint64_t bytes = 0;       // that are committed, from the first on
  SegmentDigest digest{};        // of these bytes, as its writer says; all zero: it said none
  friend bool operator==(const SegmentName&, const SegmentName&) = default;
};

// What a segment is a copy of, which a courier has brought: another server's segment.
struct SegmentOrigin {
  std::string server{};      // as its courier's certificate names it
  std::uint64_t keeper = 0;  // which of the keepers that have run there, one after the other
  std::uint64_t number = 0;
  std::uint64_t generation = 0;
  friend bool operator==(const SegmentOrigin&, const SegmentOrigin&) = default;
};

// What a keeper keeps, for people.
struct SegmentStatus {
  SegmentName name{};
  std::uint64_t capacity = 0;  // bytes of all of it
  std::uint64_t parcel = 0;    // that it goes with; 0: it goes when it is dropped by name
  bool has_writer = false;     // to whom it comes back
  std::uint32_t readers = 0;
  bool on_disk = false;                    // synced there: it outlives the keeper, and a power cut
  std::optional<SegmentOrigin> copy_of{};  // goes when that one is dropped, too
  friend bool operator==(const SegmentStatus&, const SegmentStatus&) = default;
};

struct SegmentSum {
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const SegmentSum&, const SegmentSum&) = default;
};

// A keeper's disk tier, for people.
struct SegmentDisk {
  std::string directory{};        // empty: the keeper has none
  std::string error{};            // what went wrong last
  bool writes = false;            // false: what is committed from now on stays in memory alone
  std::uint64_t quota_bytes = 0;  // of all files
  std::uint64_t file_bytes = 0;   // that they take
  SegmentSum durable{};           // synced: outlive the keeper, and a power cut
  SegmentSum pending{};           // are yet to be written, or synced
  SegmentSum memory_only{};       // there was no room for them, or the disk refused them
  SegmentSum left{};              // on the disk alone: of an earlier keeper, and not offered
  friend bool operator==(const SegmentDisk&, const SegmentDisk&) = default;
};

}  // namespace aqua
