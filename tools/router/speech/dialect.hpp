// SPDX-License-Identifier: Apache-2.0
// Dialects: how engines are asked in token ids, and tell the ids of their answers.
//
//   vllm   /v1/completions with a prompt of ids and return_token_ids; /tokenize
//   llama  llama-server's /completion with return_tokens; /apply-template and /tokenize
//
// Threads: plain data and functions. Pure: they write what is sent and read what was answered.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/speech/asked.hpp"

namespace aqua::router {

enum class Dialect : std::uint8_t { vllm, llama };
[[nodiscard]] std::string_view to_string(Dialect dialect) noexcept;

// A POST to an engine.
struct EngineCall {
  std::string path{};
  std::string body{};
};

// The answer from its position generated.size() on, as events.
[[nodiscard]] EngineCall continue_call(Dialect dialect, std::string_view model, const Asked& asked,
                                       std::span<const TokenId> prompt,
                                       std::span<const TokenId> generated);
// Has the engine compute these ids, so that its prefix cache holds them: one token, not used.
[[nodiscard]] EngineCall warm_call(Dialect dialect, std::string_view model, const Asked& asked,
                                   std::span<const TokenId> prompt,
                                   std::span<const TokenId> generated);

// One event of an answer.
struct TokenEvent {
  std::vector<TokenId> ids{};
  std::uint64_t count = 0;  // of tokens; 0 for events that bring none
  std::string text{};
  std::string finish{};          // "stop", "length"
  std::optional<Place> place{};  // where its first token is, of engines that tell (`aqua`)
};
// data_loss when it is no event of such an answer, or says that the engine failed. `had`: tokens
// that this attempt told before, by which llama-server's omissions show.
[[nodiscard]] Result<TokenEvent> parse_token_event(Dialect dialect, std::string_view data,
                                                   std::uint64_t had);

// How a prompt becomes ids: llama-server's chats take two steps, and the first one's answer is the
// text for the second.
[[nodiscard]] EngineCall template_call(std::string_view messages);  // llama only
[[nodiscard]] Result<std::string> parse_template(std::string_view body);
[[nodiscard]] EngineCall tokenize_call(Dialect dialect, std::string_view model, const Asked& asked);
[[nodiscard]] Result<std::vector<TokenId>> parse_tokens(std::string_view body);

}  // namespace aqua::router
