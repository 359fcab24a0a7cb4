// SPDX-License-Identifier: Apache-2.0
// What an engine of the fleet says on a stream: events with tokens, and in between what the router
// has to know of a move, in events that have `aqua` alone.
//
// Threads: plain functions. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "aqua/migration/move.hpp"
#include "speech/asked.hpp"

namespace aqua::fleet {

// A token of an answer.
struct Said {
  Token token = 0;
  std::string_view text{};           // what it adds to the answer's
  std::string_view finish{};         // why it is the last; "": the answer goes on
  migration::Turn turn = 0;          // of its attempt; 0: that has no name, and no place is told
  migration::Position position = 0;  // in the answer
};
// The last one is followed by [DONE].
[[nodiscard]] std::string token_event(const Said& said);
[[nodiscard]] std::string error_event(std::string_view why);

// The destination keeps room for so many tokens.
[[nodiscard]] std::string reserved_event(std::uint32_t room_tokens);
// The destination has all, and would go on from this position of the answer.
[[nodiscard]] std::string confirmed_event(migration::Position position);
// Why a move fails: a name for the router (docs/operate/router.md#how-moves-end), and a sentence.
struct Reason {
  std::string_view name{};
  std::string why{};
};
[[nodiscard]] Reason reason_of(migration::Stays stays);
[[nodiscard]] Reason no_pool();    // the KV is in memory of the engine's own
[[nodiscard]] Reason no_keeper();  // the pool's keeper is away
// The destination cannot go on with the move.
[[nodiscard]] std::string failed_event(const Reason& reason);
// The source: it stays here.
[[nodiscard]] std::string reported_event(const Reason& reason);
// The source: who is to speak? With the reason, where it knows that its parcel will not be taken.
[[nodiscard]] std::string asked_event(const std::optional<Reason>& reason = {});

[[nodiscard]] std::string whole_answer(std::span<const Token> tokens, std::string_view text,
                                       std::string_view finish);

}  // namespace aqua::fleet
