// SPDX-License-Identifier: Apache-2.0
// What replicas of a pipeline's KV are named by. A Replicator (aqua/kv_stream/replicator.hpp)
// writes them, ReplicaReader (aqua/kv_stream/replica_reader.hpp) reads them.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "aqua/handoff/segment.hpp"

namespace aqua::kv_stream {

inline constexpr std::size_t kMostSamplerBytes = 4096;

// Whose KV it is: a rank of a stage of a pipeline.
struct ReplicaOwner {
  std::string group{};  // of the pipeline: 1 to 64 letters, digits, '-' and '_'
  std::uint32_t stage = 0;
  std::uint32_t rank = 0;
  // Which life of the group: GroupNews::group (aqua/groups.hpp), or another text of the same
  // characters as a name. Each life counts its terms from 1, so those of two lives cannot be
  // compared: packs of another life end no term of this one, and are not read in it. Empty: lives
  // are not told apart, and whoever gives the name to a later group drops first what is left. Packs
  // that name a life are not the owner's then: they are neither read, nor counted, nor dropped.
  std::string life{};
  friend bool operator==(const ReplicaOwner&, const ReplicaOwner&) = default;
};

// The state of a sampler behind so many tokens.
struct SamplerState {
  std::uint32_t tokens = 0;
  std::vector<std::byte> state{};
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

// KV of the tokens [first, end) of one sequence, in a keeper's segment.
struct ReplicaPiece {
  SegmentName segment{};
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint64_t capacity = 0;  // bytes that the keeper has for the segment, committed ones counted
  std::uint64_t keeper = 0;    // that has it, as SegmentsStatus::keeper
  friend bool operator==(const ReplicaPiece&, const ReplicaPiece&) = default;
};

}  // namespace aqua::kv_stream
