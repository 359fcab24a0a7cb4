// SPDX-License-Identifier: Apache-2.0
// Requests as they came, read from the formats in which others publish them.
//
//   azure     TIMESTAMP,ContextTokens,GeneratedTokens      (Azure/AzurePublicDataset)
//   burstgpt  Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//   mooncake  {"timestamp": ms, "input_length", "output_length", "hash_ids"}, one a line
//   lengths   num_prefill_tokens,num_decode_tokens,...     (no arrivals: all come at 0)
//
// Threads: plain values and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

struct TraceRequest {
  Picos arrival = 0;                // since the first request
  std::uint32_t prompt_tokens = 0;  // at least 1
  std::uint32_t output_tokens = 0;  // at least 1: an engine always answers with one
  // Where its prefix blocks are in Trace::hashes.
  std::uint32_t hash_begin = 0;
  std::uint32_t hash_count = 0;
  friend bool operator==(const TraceRequest&, const TraceRequest&) = default;
};

enum class TraceFormat : std::uint8_t { azure, burstgpt, mooncake, lengths };

struct Trace {
  TraceFormat format = TraceFormat::azure;
  std::vector<TraceRequest> requests;  // by arrival
  std::vector<std::uint64_t> hashes;   // equal number, equal block of 512 tokens and all before it
  std::uint64_t lifted = 0;            // lengths of 0 that were read as 1

  [[nodiscard]] std::span<const std::uint64_t> blocks_of(const TraceRequest& request) const {
    return std::span(hashes).subspan(request.hash_begin, request.hash_count);
  }
};

struct TraceLimits {
  std::size_t max_requests = 20'000'000;  // a file with more is refused
  std::uint32_t max_tokens = 10'000'000;  // a longer prompt or output is taken for damage
};

inline constexpr std::uint32_t kMooncakeBlock = 512;  // tokens a hash id stands for

// The format is told by the first line. Times need not be in order: requests are sorted by
// arrival, equal ones as in the file. invalid_argument names the line and what was expected.
[[nodiscard]] Result<Trace> read_trace(std::string_view text, const TraceLimits& limits = {});
[[nodiscard]] Result<Trace> read_trace_file(const std::filesystem::path& path,
                                            const TraceLimits& limits = {});

}  // namespace aqua::sim
