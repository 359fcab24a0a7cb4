// SPDX-License-Identifier: Apache-2.0
// What an engine says of its layers in frames, since it started. All 0 of a flat cache.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace aqua::example {

struct FramesSince {
  double seconds = 0;  // since the engine started
  std::uint32_t frames = 0, blocks = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FramesSince, seconds, frames, blocks)

struct ExpansionStats {
  std::uint32_t layers = 0, frames = 0;
  std::uint64_t steps = 0, resizes = 0;
  std::uint64_t refused = 0;       // changes for which host memory had no room
  std::uint64_t preempted = 0;     // sequences that a change named, to be computed again
  std::uint64_t moved_blocks = 0;  // to other places, by changes
  std::uint64_t verified_bytes = 0, mismatched_bytes = 0;  // that steps read
  std::uint64_t fetched_bytes = 0, written_bytes = 0;      // by steps, of layers that are away
  std::uint64_t away_bytes = 0, away_peer_bytes = 0;       // now; in all, and in lent memory
  double compute_seconds = 0, stall_seconds = 0;           // of a pool with a goal
  std::string reason;                                      // of its last proposal
  std::vector<FramesSince> frames_over_time;               // each time that they changed
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExpansionStats, layers, frames, steps, resizes, refused,
                                   preempted, moved_blocks, verified_bytes, mismatched_bytes,
                                   fetched_bytes, written_bytes, away_bytes, away_peer_bytes,
                                   compute_seconds, stall_seconds, reason, frames_over_time)

}  // namespace aqua::example
