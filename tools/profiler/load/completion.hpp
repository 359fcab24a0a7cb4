// SPDX-License-Identifier: Apache-2.0
// What is asked of an OpenAI-compatible /v1/completions, and what one event of its stream says.
// Threads: plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::profiler {

struct Ask {
  double at_s = 0;  // since the beginning of the load, on the engine's clock
  std::uint32_t prompt_tokens = 1;
  std::uint32_t output_tokens = 1;
};

struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
};

struct StreamEvent {
  bool done = false;   // "[DONE]", or a finish_reason: the answer is whole
  bool ended = false;  // a finish_reason: there may be a token in it that has no text
  bool token = false;  // carries at least one token
  std::optional<Usage> usage{};
};

// The prompt is a list of token ids that every vocabulary has, drawn from `seed`, so that its
// length is exact and no two of them share a prefix. Asks for all of the output, whatever the
// model would like to end with, and for usage.
[[nodiscard]] std::string completion_body(const std::string& model, const Ask& ask,
                                          std::uint64_t seed);

// data_loss when it is not an event of such a stream, or says that the engine failed.
[[nodiscard]] Result<StreamEvent> parse_event(std::string_view data);

}  // namespace aqua::profiler
