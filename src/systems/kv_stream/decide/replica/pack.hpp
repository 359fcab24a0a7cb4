// SPDX-License-Identifier: Apache-2.0
// A pack is what a segment with replicas has in it: KV of token ranges of several sequences, and
// behind it a directory that says what lies where, so that whoever finds the segment needs nothing
// else. Numbers are little-endian.
//
//   at        bytes
//   0             8  "AQUAPCK2"
//   8             8  where the directory begins
//   16            8  its bytes
//   24            8  its FNV-1a hash, of 64 bits
//   64               KV of each entry, in the packed form of its range (aqua/layout.hpp)
//   directory     4  stage; 4 rank; 8 term; 8 bytes of KV of one token
//                 2  length of the group's name, which follows; 2 of the id of its life, which
//                    follows; 2 of the shape, which follows
//                 4  number of entries, which follow
//   an entry      8  sequence; 4 first token; 4 number of tokens; 8 where its KV begins
//                 8  fingerprint of the ids of the tokens before the first
//                 4  sampler: behind how many tokens; 8 their fingerprint; 4 length of the state
//                    ids of the tokens, 4 each; the state of the sampler
//
// Threads: plain functions and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/kv_stream/replica.hpp"
#include "aqua/result.hpp"

namespace aqua::kv_stream {

inline constexpr std::size_t kPackHeadBytes = 64;
inline constexpr std::size_t kMostShapeBytes = 1024;
inline constexpr std::size_t kMostPackEntries = std::size_t{1} << 16;

struct PackEntry {
  std::uint64_t sequence = 0;
  std::uint32_t first = 0;
  std::vector<std::uint32_t> ids{};  // of its tokens, one or more
  std::uint64_t offset = 0;          // of its KV in the segment
  std::uint64_t before = 0;          // fingerprint of the ids before the first
  SamplerState sampler{};            // no tokens: none is said
  std::uint64_t sampler_ids = 0;     // fingerprint of the ids before it
  [[nodiscard]] std::uint32_t end() const { return first + static_cast<std::uint32_t>(ids.size()); }
  friend bool operator==(const PackEntry&, const PackEntry&) = default;
};

struct Pack {
  ReplicaOwner owner{};
  std::uint64_t term = 0;
  std::string shape{};
  std::uint64_t token_bytes = 0;
  std::vector<PackEntry> entries{};
  friend bool operator==(const Pack&, const Pack&) = default;
};

// invalid_argument: the group's name is none, or its life's id.
[[nodiscard]] Result<void> check_owner(const ReplicaOwner& owner);

// What an entry takes of the directory; and the directory, of a pack without entries.
[[nodiscard]] std::size_t directory_bytes(const PackEntry& entry);
[[nodiscard]] std::size_t directory_bytes(const Pack& pack);

// Writes head and directory of a pack whose KV ends at `kv_end`; returns where all of it ends.
// Before: the memory has kv_end and the directory, of all entries, behind it.
std::size_t write_pack(const Pack& pack, std::size_t kv_end, std::span<std::byte> segment);

// invalid_argument: it is no pack, or one that cannot be: KV beyond the directory's beginning, too
// many tokens, names that are none. Nothing that is returned leads outside the segment.
[[nodiscard]] Result<Pack> parse_pack(std::span<const std::byte> segment);

}  // namespace aqua::kv_stream
