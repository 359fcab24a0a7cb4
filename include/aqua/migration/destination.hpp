// SPDX-License-Identifier: Apache-2.0
// DestinationMove is a move as the engine sees it that the request comes to. It begins with room
// that the engine keeps for it, and ends when it speaks or the room is freed.
// docs/engine/migration.md has the table.
//
// Invariant: it speaks only when the router has granted it a turn. It then repeats the ids that it
// has from the position on that the router names, and goes on.
//
// Threads: not thread-safe; pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/result.hpp"

namespace aqua::migration {

enum class DestinationState : std::uint8_t {
  room,      // keeps room; what crosses may have begun to arrive
  landing,   // all is here, and is being put in its place or computed
  ready,     // it has all, and asked the router for the turn
  speaking,  // over: the request is this engine's
  freed,     // over: nothing is left here
};
inline constexpr std::array kDestinationStates{DestinationState::room, DestinationState::landing,
                                               DestinationState::ready, DestinationState::speaking,
                                               DestinationState::freed};

enum class DestinationEvent : std::uint8_t {
  told,       // token ids have come, to be computed ahead (Kind::tokens)
  caught_up,  // those that were told are computed
  closed,     // all has come, and the note
  landed,     // it is in its place
  failed,     // it cannot be: a note that makes no sense, a copy or a prefill that failed
  granted,    // the router: it speaks, under this turn
  denied,     // the router: it does not
  withdrawn,  // the source: nothing (more) comes
  source_died,
  router_died,
  cancelled,  // its client is gone
  timed_out,
};
inline constexpr std::array kDestinationEvents{
    DestinationEvent::told,        DestinationEvent::caught_up, DestinationEvent::closed,
    DestinationEvent::landed,      DestinationEvent::failed,    DestinationEvent::granted,
    DestinationEvent::denied,      DestinationEvent::withdrawn, DestinationEvent::source_died,
    DestinationEvent::router_died, DestinationEvent::cancelled, DestinationEvent::timed_out};

enum class DestinationCommand : std::uint8_t {
  prefill,  // compute what was told; its KV stays, nothing of it is spoken
  tell,     // tell the source that it has caught up
  land,     // put the rest in its place; as tokens: compute what is left
  confirm,  // ask the router for the turn, with the position that it would go on from
  speak,    // Scheduler::arrive(), and speak under the granted turn
  free,     // free the room and all that came, end the request if it runs
  report,   // tell the router that it cannot go on with the move
};

class AQUA_API DestinationMove {
 public:
  // As SourceMove::on().
  [[nodiscard]] Result<std::vector<DestinationCommand>> on(DestinationEvent event);

  [[nodiscard]] DestinationState state() const noexcept { return state_; }
  [[nodiscard]] bool over() const noexcept { return state_ >= DestinationState::speaking; }
  friend bool operator==(const DestinationMove&, const DestinationMove&) = default;

 private:
  DestinationState state_ = DestinationState::room;
};

[[nodiscard]] AQUA_API std::string_view to_string(DestinationState state) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(DestinationEvent event) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(DestinationCommand command) noexcept;

}  // namespace aqua::migration
