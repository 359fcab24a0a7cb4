// SPDX-License-Identifier: Apache-2.0
// What clients are told, in the words of OpenAI's API: events of a stream, whole answers, errors.
//
// Threads: plain data and functions. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/result.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/speech/asked.hpp"

namespace aqua::router {

struct Heading {
  Api api = Api::completions;
  std::string id{};  // "cmpl-…", "chatcmpl-…"
  std::string model{};
  std::int64_t created = 0;  // seconds since 1970
  bool tell_ids = false;
};

// --- a stream, each an event with its blank line -------------------------------------------------
// Before the first piece; "" for completions.
[[nodiscard]] std::string opening_event(const Heading& heading);
[[nodiscard]] std::string piece_event(const Heading& heading, std::string_view text,
                                      std::span<const TokenId> ids, std::string_view finish);
[[nodiscard]] std::string usage_event(const Heading& heading, std::uint64_t prompt_tokens,
                                      std::uint64_t completion_tokens);
// Ends a stream that broke off: nothing follows it but the end of the connection.
[[nodiscard]] std::string error_event(const Error& error);
inline constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";

// --- whole ---------------------------------------------------------------------------------------
struct WholeAnswer {
  std::string text{};
  std::vector<TokenId> ids{};
  std::string finish{};
  std::uint64_t prompt_tokens = 0;
  std::uint64_t completion_tokens = 0;
};
[[nodiscard]] std::string whole_answer(const Heading& heading, const WholeAnswer& answer);
// {"error": {"message", "type", "code"}}, as OpenAI's clients read it; `next` says what to do.
[[nodiscard]] std::string error_body(const Error& error);
[[nodiscard]] std::string model_list(std::string_view model, std::uint64_t max_tokens);

}  // namespace aqua::router
