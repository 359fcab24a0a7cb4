// SPDX-License-Identifier: Apache-2.0
// What the engines tell the orchestrator ten times a second: sums since they started, and
// where things stand now.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "expansion_stats.hpp"
#include "sharing_text.hpp"
#include "tier_bytes.hpp"

namespace aqua::example {

// What a tenant's preempted sequences did, and what checking their bytes found.
struct SwapStats {
  std::uint64_t preemptions = 0;
  std::uint64_t refused_allocations = 0;  // no tensor memory for a victim; it stayed
  TierBytes offloaded, fetched;
  TierBytes verified, mismatched;  // after each fetch
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SwapStats, preemptions, refused_allocations, offloaded, fetched,
                                   verified, mismatched)

struct ConsumerStats {
  std::uint64_t submitted = 0, done = 0;                   // requests
  std::uint64_t waiting = 0, resident = 0, preempted = 0;  // requests now
  std::uint64_t tokens = 0, iterations = 0;                // tokens generated
  std::uint64_t recomputations = 0;  // preempted without a copy: the swap space was full
  std::string sharing, why;          // how its scheduler shares the device now
  Switches switched_to;
  double peer_seconds_per_block = 0, host_seconds_per_block = 0;  // on the way back; 0: not seen
  SwapStats swap;
  std::uint64_t verified_in_cache = 0, mismatched_in_cache = 0;  // when a request completes
  TierBytes tensors;                                             // now
  std::uint64_t leased_bytes = 0;
  std::uint64_t promotions = 0, promoted_bytes = 0;
  std::uint64_t evacuations = 0, evacuated_bytes = 0;
  std::uint64_t budgets = 0;  // callbacks
  std::uint64_t lost_tensors = 0;
  ExpansionStats expansion;
  std::vector<double> ttft_ms;  // of each request, once it has its first token

  [[nodiscard]] std::uint64_t verified() const {
    return swap.verified.sum() + verified_in_cache + expansion.verified_bytes;
  }
  [[nodiscard]] std::uint64_t mismatched() const {
    return swap.mismatched.sum() + mismatched_in_cache + expansion.mismatched_bytes;
  }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ConsumerStats, submitted, done, waiting, resident, preempted,
                                   tokens, iterations, recomputations, sharing, why, switched_to,
                                   peer_seconds_per_block, host_seconds_per_block, swap,
                                   verified_in_cache, mismatched_in_cache, tensors, leased_bytes,
                                   promotions, promoted_bytes, evacuations, evacuated_bytes,
                                   budgets, lost_tensors, expansion, ttft_ms)

struct ProducerStats {
  std::uint64_t own_bytes = 0, lent_bytes = 0, held_bytes = 0;  // now; held: of lent, by others
  std::uint64_t loans = 0, loaned_bytes = 0;
  std::uint64_t surges = 0;
  std::uint64_t reclaims = 0;   // after a surge, all that was lent came back
  std::vector<double> slab_ms;  // from the report of a surge until each slab was back
  std::uint64_t verified_bytes = 0, mismatched_bytes = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProducerStats, own_bytes, lent_bytes, held_bytes, loans,
                                   loaned_bytes, surges, reclaims, slab_ms, verified_bytes,
                                   mismatched_bytes)

}  // namespace aqua::example
