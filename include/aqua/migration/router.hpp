// SPDX-License-Identifier: Apache-2.0
// RouterMove is a move as the router sees it, which has the client's stream and says who speaks.
// docs/engine/migration.md has the table.
//
// Invariant: turns are given here alone, by raise() of the stream's filter, each to one engine.
//
// Threads: not thread-safe; pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "aqua/migration/move.hpp"
#include "aqua/migration/stream_filter.hpp"
#include "aqua/result.hpp"

namespace aqua::migration {

enum class RouterState : std::uint8_t {
  moving,      // the source speaks, or is held
  alone,       // the destination is dead or gave up; the source speaks, or will ask
  orphaned,    // the source is dead: the destination may have all
  switched,    // the destination speaks
  stays,       // the source speaks, and the move is over
  recomputed,  // over: another engine computes prompt and tokens anew, as a new request
  finished,    // over: no more is to be spoken
};
inline constexpr std::array kRouterStates{
    RouterState::moving, RouterState::alone,      RouterState::orphaned, RouterState::switched,
    RouterState::stays,  RouterState::recomputed, RouterState::finished};

enum class RouterEvent : std::uint8_t {
  reported,   // the source: it stays
  confirmed,  // the destination: it has all, and would go on from this position
  asked,      // the source: who is to speak?
  failed,     // the destination: it cannot go on with the move
  source_died,
  destination_died,
  timed_out,  // the move, or a destination that does not say whether it has all
  cancelled,  // the client is gone
  ended,      // the end of the stream has passed
};
inline constexpr std::array kRouterEvents{
    RouterEvent::reported,  RouterEvent::confirmed,   RouterEvent::asked,
    RouterEvent::failed,    RouterEvent::source_died, RouterEvent::destination_died,
    RouterEvent::timed_out, RouterEvent::cancelled,   RouterEvent::ended};

enum class RouterCommand : std::uint8_t {
  grant,      // to the destination: speak under `turn` from `from` on
  deny,       // to the destination: do not speak, free
  confirm,    // to the source: another speaks, free
  resume,     // to the source: speak under `turn` from `from` on
  abandon,    // to the source: the destination is dead or gave up
  hurry,      // to the source: the move took too long
  inquire,    // to the destination: the source is dead, have you all?
  sweep,      // end by name what parcel of the request waits: nobody else will
  recompute,  // sweep, and send prompt and tokens to an engine, as a new request under `turn`
  cancel_source,
  cancel_destination,
};

struct RouterOrder {
  RouterCommand what{};
  // grant, resume, recompute.
  Turn turn = 0;
  Position from = 0;
  friend bool operator==(const RouterOrder&, const RouterOrder&) = default;
};

class AQUA_API RouterMove {
 public:
  // As SourceMove::on(). `stream` is the request's; its turn is raised where a turn is given.
  // `position` is heeded by confirmed.
  [[nodiscard]] Result<std::vector<RouterOrder>> on(RouterEvent event, StreamFilter& stream,
                                                    Position position = 0);

  [[nodiscard]] RouterState state() const noexcept { return state_; }
  friend bool operator==(const RouterMove&, const RouterMove&) = default;

 private:
  RouterState state_ = RouterState::moving;
  Position from_ = 0;  // of the last turn given here
};

[[nodiscard]] AQUA_API std::string_view to_string(RouterState state) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(RouterEvent event) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(RouterCommand command) noexcept;

}  // namespace aqua::migration
