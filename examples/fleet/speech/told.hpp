// SPDX-License-Identifier: Apache-2.0
// What an engine of the fleet says on a stream: events with tokens, and in between what the router
// has to know of a move, in events that have `aqua` alone.
//
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "speech/asked.hpp"

namespace aqua::fleet {

// `text`: what it adds to the answer's. `finish` "": it goes on. The last one is followed by
// [DONE].
[[nodiscard]] std::string token_event(Token token, std::string_view text, std::string_view finish);
[[nodiscard]] std::string error_event(std::string_view why);

// The destination keeps room for so many tokens.
[[nodiscard]] std::string reserved_event(std::uint32_t room_tokens);
// The destination has all, and would go on from this position of the answer.
[[nodiscard]] std::string confirmed_event(migration::Position position);
// The destination cannot go on with the move.
[[nodiscard]] std::string failed_event(std::string_view why);
// The source: it stays here.
[[nodiscard]] std::string reported_event(std::string_view why);
// The source: who is to speak?
[[nodiscard]] std::string asked_event();

[[nodiscard]] std::string whole_answer(std::span<const Token> tokens, std::string_view text,
                                       std::string_view finish);

}  // namespace aqua::fleet
