// SPDX-License-Identifier: Apache-2.0
// Request traces for the demonstration: read in the format of the Azure LLM inference traces
// (Azure/AzurePublicDataset), or made up with the same shape.
//
//   TIMESTAMP,ContextTokens,GeneratedTokens
//   2023-11-16 18:15:46.6805900,374,44
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <limits>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::example {

struct TraceRequest {
  std::chrono::microseconds arrival{0};  // since the trace's first request
  std::uint32_t prompt_tokens = 0;
  std::uint32_t output_tokens = 0;
  friend bool operator==(const TraceRequest&, const TraceRequest&) = default;
};

struct TraceLimits {
  // Stop after so many requests; what follows them is not looked at.
  std::size_t first_requests = std::numeric_limits<std::size_t>::max();
  // A file with more is refused before it fills the memory (16 bytes a request).
  std::size_t max_requests = 10'000'000;
  // A longer prompt or output is taken for damage.
  std::uint32_t max_tokens = 10'000'000;
};

// Reads requests in order of arrival. Lines end in LF or CRLF; the header line is required; the
// fraction of a second has exactly seven digits. invalid_argument names line and column
// for anything else: another header, a missing or extra column, a date that does not exist, a
// request that arrives before the one above it, too many of anything, or no request at all.
[[nodiscard]] Result<std::vector<TraceRequest>> read_trace(std::istream& in,
                                                           const TraceLimits& limits = {});
// The same of a file; not_found when it cannot be opened.
[[nodiscard]] Result<std::vector<TraceRequest>> read_trace_file(const std::filesystem::path& path,
                                                                const TraceLimits& limits = {});

// Log-normal lengths, cut off at `min` and `max`.
struct TokenShape {
  double mean = 1;
  double sigma = 1;  // of the logarithm
  std::uint32_t min = 1;
  std::uint32_t max = 1;
};

// The defaults have the shape of azure_llm_inference_conv_2023.csv: 5.5 requests a second;
// prompts of 1,155 tokens in the mean, 4,142 at the 99th percentile, 14,050 at most; outputs
// of 211 in the mean. Its arrivals are burstier than the Poisson process made here.
struct TraceShape {
  std::size_t requests = 1000;
  double requests_per_second = 5.5;
  TokenShape prompt{.mean = 1155, .sigma = 0.636, .min = 2, .max = 14'050};
  TokenShape output{.mean = 211, .sigma = 0.86, .min = 7, .max = 1000};
  std::uint64_t seed = 1;
};

// The same shape gives the same trace. invalid_argument for a rate or mean that is not
// positive and finite, or min over max.
[[nodiscard]] Result<std::vector<TraceRequest>> make_trace(const TraceShape& shape);

}  // namespace aqua::example
