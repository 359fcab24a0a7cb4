// SPDX-License-Identifier: Apache-2.0
// Lending between two GPUs, both simulated: one serves an LLM and lends what it can spare, the
// other streams a context larger than its memory (Aqua, sections 9.3 and 9.4).
//
// The lender's load is stable, doubles for a while, and settles. Beside it the same lender without
// a borrower: what lending costs it.
#pragma once

#include "tools/sim/lending/lender.hpp"
#include "tools/sim/lending/streamer.hpp"
#include "tools/sim/report/metrics.hpp"
#include "tools/sim/report/scenario.hpp"

namespace aqua::sim {

struct LongPromptShape {
  std::uint32_t prompt_tokens = 8192;  // the median of arXiv papers, rounded (section 9.1)
  std::uint64_t tokens = 200;
};

// Generation of one long prompt, fetched from one tier throughout.
struct LongPromptOutcome {
  double tokens_per_second = 0;
  double closed_form = 0;  // likewise
  double layer_fetch_s = 0, layer_compute_s = 0;
};
// Tier::local: its context needs no fetching (the limit).
[[nodiscard]] LongPromptOutcome long_prompt(const Ground& ground, const LongPromptShape& shape,
                                            Tier tier, bool overlapped, PagingMethod method);

struct ElasticShape {
  double per_second = 1;  // the lender's stable rate
  double factor = 2;
  double start_s = 60;    // the long prompt begins
  double surge_s = 120;   // the lender's load rises
  double settle_s = 180;  // and falls
  double end_s = 300;
  std::uint32_t prompt_tokens = 8192;
  double lend_bytes = 20e9;  // at most
};
struct ElasticOutcome {
  std::vector<double> tokens_per_second;  // of the borrower, in each of end_s seconds
  std::vector<Lender::Sample> lender;     // likewise
  Metrics lending, alone;                 // of the lender
  double bytes_moved = 0;                 // off its slabs and back
  std::uint64_t offers = 0, reclaims = 0;
};
// `lender` serves the trace's lengths; `borrower` streams. Same server. invalid_argument as
// ProducerPolicy::create; internal when a run cannot end.
[[nodiscard]] Result<ElasticOutcome> elastic(const Ground& lender, const Ground& borrower,
                                             const Trace& trace, const ElasticShape& shape,
                                             std::uint64_t seed);

}  // namespace aqua::sim
