// SPDX-License-Identifier: Apache-2.0
// What pipelines are asked: lengths of a trace, by the assumption that is made of answers that end
// early.
#pragma once

#include <cstdint>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/input/trace.hpp"

namespace aqua::sim {

// none:       every answer has the mean length.
// microbatch: answers of a microbatch have one length, as the paper assumes. Runs of 32 requests
//             have one, which are cut into microbatches and shuffled, so that microbatches of any
//             size up to 32 are alike and all tokens together the same.
// request:    each answer has its own.
enum class EarlyStops : std::uint8_t { none, microbatch, request };

struct PipelineLoad {
  std::uint64_t requests = 1024;
  std::uint32_t prompt_tokens = 0;  // of every prompt; 0: as in the trace
  std::uint32_t context = 2048;     // longer requests are left out
  EarlyStops stops = EarlyStops::request;
  std::uint32_t microbatch = 1;  // of EarlyStops::microbatch, at most 32
  double per_second = 0;         // Poisson arrivals; 0: all come at once
};

// Those of the trace that the load takes, each once: with its prompts, and within its context.
[[nodiscard]] std::vector<TraceRequest> requests_that_fit(const Trace& trace,
                                                          const PipelineLoad& load);

// From a place in the trace that the seed chooses. invalid_argument: nothing of the trace is left,
// it is a single request, or requests come over more than kMostSeconds.
[[nodiscard]] Result<std::vector<TraceRequest>> pipeline_requests(const Trace& trace,
                                                                  const PipelineLoad& load,
                                                                  std::uint64_t seed);

struct PipelineLengths {
  double prompt = 0, output = 0;  // means; output with the first token
  std::uint32_t longest_prompt = 0, longest_output = 0;
};
[[nodiscard]] PipelineLengths lengths_of(const std::vector<TraceRequest>& requests);

}  // namespace aqua::sim
