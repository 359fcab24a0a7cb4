// SPDX-License-Identifier: Apache-2.0
// How engines that have their KV in a pool are told to move a request, and tell what becomes of it
// (docs/operate/router.md#engines-that-move-kv).
//
// Threads: plain data and functions. Pure: they write what is sent and read what was answered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/migration/router.hpp"
#include "aqua/result.hpp"
#include "tools/router/decide/move_end.hpp"
#include "tools/router/decide/piece.hpp"
#include "tools/router/speech/dialect.hpp"

namespace aqua::router {

inline constexpr const char* kPoolPath = "/aqua/v1/pool";
inline constexpr const char* kOrdersPath = "/aqua/v1/orders";

// The pool of an engine, and the role to which parcels for it are handed there.
struct EnginePool {
  std::string pool{};  // "": it has none
  std::string role{};
  bool away = false;  // no keeper of the pool answers: nothing is handed over
  // Roles of other keepers' engines, to which couriers carry what this one hands over.
  std::vector<std::string> reaches{};
  friend bool operator==(const EnginePool&, const EnginePool&) = default;
};
// Reads an engine's pool; a body that makes no sense is that of no pool.
[[nodiscard]] EnginePool parse_pool(std::string_view body);

// What engines know an attempt by.
struct AttemptName {
  std::string request{};
  Turn turn = kNoTurn;
};

// The same call, of an attempt with a name. `answered`: so many ids at the end of its prompt are
// the answer so far. `from`: the engine waits for KV of that role's engine, and for the grant of a
// turn; empty: it does not.
[[nodiscard]] EngineCall named(EngineCall call, const AttemptName& name, std::uint64_t answered,
                               const std::string& from);

// What an engine says on an attempt's stream.
struct MoveWord {
  enum class What : std::uint8_t {
    reserved,   // the destination keeps `room_tokens`
    confirmed,  // the destination has all, and would go on from `position`
    failed,     // the destination cannot go on with the move
    reported,   // the source: it stays
    asked,      // the source: who is to speak?
  };
  What what{};
  std::uint64_t room_tokens = 0;
  migration::Position position = 0;
  std::optional<MoveEnd> reason{};  // of failed, reported and asked: why, where the engine tells
  std::string why{};                // the same, for people
};
// nullopt: the event is not about a move. data_loss: it is, and makes no sense.
[[nodiscard]] Result<std::optional<MoveWord>> parse_move_word(std::string_view data);

// --- orders, each a POST to kOrdersPath ----------------------------------------------------------
// To the source: hand it over to `to`, in a parcel of turn `move`, of which the destination knows
// the first `answered` tokens of the answer.
[[nodiscard]] EngineCall move_order(const AttemptName& source, const EnginePool& to, Turn move,
                                    std::uint64_t answered, std::uint64_t room_tokens);
// To the destination: speak from there on.
[[nodiscard]] EngineCall grant_order(const AttemptName& destination, migration::Position from);
// To the source: speak on. Orders about this move or an earlier one that come later are void;
// kNoTurn: about any that it knows of.
[[nodiscard]] EngineCall resume_order(const AttemptName& source, Turn move);
// abandon and hurry to the source; source_died to the destination.
[[nodiscard]] EngineCall plain_order(std::string_view order, const AttemptName& name);
// To any engine of the pool: end what parcel of the request waits there under this turn or a lower
// one.
[[nodiscard]] EngineCall sweep_order(const AttemptName& up_to);

}  // namespace aqua::router
