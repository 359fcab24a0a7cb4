// SPDX-License-Identifier: Apache-2.0
// A load: what is asked of the engine and when, and what came of it. Open loop: nobody waits for
// an earlier answer before asking.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tools/profiler/load/completion.hpp"
#include "tools/profiler/load/verdict.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::profiler {

struct LengthLimits {
  std::uint64_t max_tokens = std::numeric_limits<std::uint64_t>::max();  // prompt and output
};

// The requests of a workload; prompts that are too long for the engine are cut, at least to one
// token each.
[[nodiscard]] std::vector<Ask> asks_of(const sim::Workload& workload, const LengthLimits& limits);
// invalid_argument when the answers have more than 100,000,000 tokens together: the time of each
// is kept.
[[nodiscard]] Result<void> playable(const std::vector<Ask>& asks);
// Between the tokens of all answers.
[[nodiscard]] std::size_t gaps_of(const std::vector<Ask>& asks);

// The times of one request, in the engine's seconds since the load began; negative: not yet, never.
struct Trip {
  double at_s = 0;  // as planned
  double sent_s = -1;
  double first_s = -1;
  double end_s = -1;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t output_tokens = 0;
};

struct LoadResult {
  Standing standing = Standing::open;  // open: stopped before its end
  Quantiles quantiles{};
  std::size_t answered = 0;
  std::size_t failures = 0;  // refusals and faults
  std::string shortage{};    // what this machine lacked: then nothing is known of the engine
  std::string fault{};       // the first one that was no refusal
  std::size_t faults = 0;
  std::string difference{};     // of the first answer that was another load than asked for
  std::size_t differences = 0;  // answers that were
  double seconds = 0;           // of the engine's clock
  double lateness_s = 0;        // sent after its time, the 99th percentile: the client's own delay
  std::vector<Trip> trips{};
};

}  // namespace aqua::profiler
