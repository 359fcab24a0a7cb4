// SPDX-License-Identifier: Apache-2.0
// What KV memory a load took, as its client can know: from the lengths of what was in flight.
// Threads: plain functions. Pure.
#pragma once

#include <vector>

#include "tools/profiler/load/load.hpp"

namespace aqua::profiler {

struct LoadTokens {
  double peak_served = 0;   // at once, of those that had their first token and not their last
  double peak_wanted = 0;   // likewise, and the prompts of those that waited
  double mean_waiting = 0;  // requests that waited for their first token
};

// Tokens of an answer are taken to come evenly between its first and its last.
[[nodiscard]] LoadTokens load_tokens(const std::vector<Trip>& trips);

}  // namespace aqua::profiler
