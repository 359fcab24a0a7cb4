// SPDX-License-Identifier: Apache-2.0
// What an engine is asked, in order of arrival. Requests that come over more than kMostSeconds are
// refused: invalid_argument.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aqua/prefix/block_hash.hpp"
#include "aqua/result.hpp"
#include "tools/sim/engine/time.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::sim {

struct Workload {
  std::vector<TraceRequest> requests;
  std::vector<prefix::BlockHash> hashes{};  // TraceRequest::hash_begin, hash_count
  std::uint32_t hash_block_tokens = kMooncakeBlock;
  std::uint64_t redirected = 0;  // arrivals that went elsewhere
};

// Refuses requests of which the last one comes, or may be expected, after kMostSeconds.
[[nodiscard]] Result<void> comes_in_time(double last_s);
// Goes on by `gap_s` to the next arrival, which is refused likewise.
[[nodiscard]] Result<void> wait_for_next(Picos& now, double gap_s);

// As the trace has it, the hour repeated until there are `count` requests (0: as many as it has).
// Repetitions follow each other at the trace's mean distance. `speed`: so many times faster.
[[nodiscard]] Result<Workload> tiled(const Trace& trace, std::uint64_t count, double speed = 1);

// Lengths of the trace in its order from a place that the seed chooses; Poisson arrivals.
struct PoissonShape {
  std::uint64_t requests = 1000;
  double per_second = 1;
};
[[nodiscard]] Result<Workload> poisson(const Trace& trace, const PoissonShape& shape,
                                       std::uint64_t seed);

// The paper's burst (section 9.1): after `quiet_prompts` at the stable rate, `factor` times the
// rate for `seconds`; then arrivals (again at the stable rate) are redirected to instances that
// have started meanwhile, until as many as the burst added have left; then as before.
struct BurstShape {
  double per_second = 1;
  double factor = 2;
  double seconds = 60;
  std::uint64_t quiet_prompts = 25;
  std::uint64_t after = 100;  // requests once all is as before
};
[[nodiscard]] Result<Workload> burst(const Trace& trace, const BurstShape& shape,
                                     std::uint64_t seed);

// The paper's prefix caching (section 9.1): every `every`-th request is one long prompt that
// always begins alike, its last `suffix_tokens` differing; the others are the trace's.
struct PrefixShape {
  std::uint64_t requests = 300;
  double per_second = 1;
  std::uint32_t prompt_tokens = 100'000;
  std::uint32_t suffix_tokens = 256;
  std::uint64_t every = 10;
};
[[nodiscard]] Result<Workload> prefix_caching(const Trace& trace, const PrefixShape& shape,
                                              std::uint64_t seed);

}  // namespace aqua::sim
