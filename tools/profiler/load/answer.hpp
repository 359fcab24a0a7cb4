// SPDX-License-Identifier: Apache-2.0
// One request to the engine, from its sending to its last token.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/profiler/load/engine_link.hpp"

namespace aqua::profiler {

// How a request ended.
struct Answer {
  std::uint64_t prompt_tokens = 0;  // by its usage; else as asked
  std::uint64_t output_tokens = 0;  // by its usage; else events that carried a token
  bool usage = false;
  bool refused = false;  // 429 or 503: the engine has too much to do
  bool ours = false;     // the fault is this machine's, not the engine's
  // Empty: it was answered to its end.
  std::string fault{};
};

// Sends over `client` and reads the stream; blocks until it has ended. `token` is told when an
// event with a token came in, before it is looked into any further; false from it stops.
[[nodiscard]] Answer ask_engine(HttpClient& client, const EngineLink& engine, const Ask& ask,
                                std::uint64_t seed,
                                const std::function<bool(Clock::time_point)>& token);

// In what an answer without fault was another load than the one asked for, by its usage: it ended
// early, or its prompt had another length. Empty: in nothing, or there is no usage.
[[nodiscard]] std::string unlike(const Ask& ask, const Answer& answer);

}  // namespace aqua::profiler
