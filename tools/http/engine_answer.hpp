// SPDX-License-Identifier: Apache-2.0
// What every OpenAI-compatible engine answers alike: its errors, and the models it serves.
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "aqua/result.hpp"

namespace aqua::http {

// What a person can read of an answer that is an error: its message, else its beginning.
[[nodiscard]] std::string error_text(std::string_view body);
// A message of an engine's as it is kept and shown: at most 300 characters, all printable.
[[nodiscard]] std::string message_shown(std::string_view message);

// The first model of /v1/models, and its longest sequence where that is told (vLLM).
struct ModelInfo {
  std::string id{};
  std::uint64_t max_tokens = 0;  // 0: not told
};
// data_loss when it lists no model.
[[nodiscard]] Result<ModelInfo> parse_models(std::string_view body);

}  // namespace aqua::http
