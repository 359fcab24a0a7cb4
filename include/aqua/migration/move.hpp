// SPDX-License-Identifier: Apache-2.0
// A move takes a request from the engine that answers it, the source, to another, the destination,
// in mid-sentence. Three parties take part, each with a state machine of its own (source.hpp,
// destination.hpp, router.hpp): the router in front, which has the client's stream and all tokens,
// says who speaks.
// docs/engine/migration.md has their tables, what each command means, and what holds.
#pragma once

#include <cstdint>
#include <string_view>

#include "aqua/export.h"

namespace aqua::migration {

// Who speaks for a request: whoever has the highest turn. The router alone gives turns, and each
// once; only a router's memory is lost with it, so an engine tells its turn when it is asked.
using Turn = std::uint64_t;
// The place of a token in its answer: 0 is the first that is generated. The end of the stream has
// the position behind the last token.
using Position = std::uint64_t;

// What crosses: blocks of KV, or token ids (never text), of which the destination computes KV.
enum class Kind : std::uint8_t { kv, tokens };

// Tokens [first, first + count) of a sequence, prompt and answer together.
struct TokenRange {
  std::uint32_t first = 0, count = 0;
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

// What a move is asked of.
struct Candidate {
  std::uint32_t prompt_tokens = 0, computed_tokens = 0, generated_tokens = 0;
  std::uint32_t answers = 1;    // n: side by side from one prompt
  bool guided = false;          // by a grammar or a schema, which has a state of its own
  bool guide_exported = false;  // and the engine can say that state
};

// Why a request stays where it is.
enum class Stays : std::uint8_t {
  moves,            // it does not: nothing is in the way
  prefill,          // its answer has not begun, or it is being computed again
  several_answers,  // n > 1: its answers share blocks
  guided,           // and the state of the guide cannot be exported
  refused,          // the destination has no room
  outgrown,         // it came to need more than was reserved
  lost,             // it was sent out, or its KV was lost
  destination_died,
  router_died,
  timed_out,
};
[[nodiscard]] AQUA_API std::string_view to_string(Stays reason) noexcept;
// A sentence for people.
[[nodiscard]] AQUA_API std::string_view why(Stays reason) noexcept;

// Whether a move of it may begin. As tokens the answer may be computed again meanwhile; as KV all
// but the pending token has to be there.
[[nodiscard]] AQUA_API Stays may_move(const Candidate& candidate, Kind kind) noexcept;

}  // namespace aqua::migration
