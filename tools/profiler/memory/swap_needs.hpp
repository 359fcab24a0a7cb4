// SPDX-License-Identifier: Apache-2.0
// How much swap space an engine wants (Aqua, section 4.1): from the number of prompts, the longest
// sequence, and the memory of a context; for bursts from what was seen (load_memory.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include "northbound/profile_fields.hpp"

namespace aqua::profiler {

// At most what a profile can name.
[[nodiscard]] inline double kv_bytes(double tokens, double bytes_per_token) {
  return std::min(tokens * bytes_per_token, profile::kMostBytes);
}

// `prompts` cached prefixes as long as the longest.
[[nodiscard]] inline double prefix_swap_bytes(std::uint64_t prompts, std::uint64_t longest_tokens,
                                              double bytes_per_token) {
  return kv_bytes(static_cast<double>(prompts) * static_cast<double>(longest_tokens),
                  bytes_per_token);
}

// What the pool cannot hold of one sequence of so many tokens.
[[nodiscard]] inline double long_prompt_swap_bytes(std::uint64_t tokens, double bytes_per_token,
                                                   double pool_bytes) {
  return std::max(0.0, kv_bytes(static_cast<double>(tokens), bytes_per_token) - pool_bytes);
}

// Everybody who has arrived is served at once, as a fair scheduler does: what the pool cannot hold.
[[nodiscard]] inline double burst_swap_bytes(double wanted_bytes, double pool_bytes) {
  return std::max(0.0, wanted_bytes - pool_bytes);
}

}  // namespace aqua::profiler
