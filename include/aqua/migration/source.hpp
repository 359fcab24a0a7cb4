// SPDX-License-Identifier: Apache-2.0
// SourceMove is a move as the engine sees it that the request leaves. The engine tells what
// happens and does what is ordered, in this order; docs/engine/migration.md has the table.
//
//   auto move = SourceMove::begin(candidate, {.kind = Kind::kv, .room_tokens = 2200}).value();
//   for (const SourceOrder& order : move.on(SourceEvent::reserved, computed).value())
//   carry_out(order);
//
// Invariants: before `close` was ordered the source speaks, and may go on by itself. After it, it
// goes on only when the router says so (`resumed`): the destination may have been given the turn.
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

enum class SourceState : std::uint8_t {
  reserving,  // room was asked for at the destination; it goes on speaking
  copying,    // finished blocks cross, or ids; it goes on speaking
  holding,    // the hold begins at the next boundary of an iteration
  closing,    // it is held; the rest crosses
  handed,     // all has crossed: the destination may be given the turn
  asking,     // it asked the router who is to speak
  stays,      // over: it goes on here
  moved,      // over: another engine speaks
  gone,       // over: its client is gone, or its answer has ended
};
inline constexpr std::array kSourceStates{
    SourceState::reserving, SourceState::copying, SourceState::holding,
    SourceState::closing,   SourceState::handed,  SourceState::asking,
    SourceState::stays,     SourceState::moved,   SourceState::gone};

enum class SourceEvent : std::uint8_t {
  reserved,   // the destination keeps room
  refused,    // it has none
  copied,     // what was ordered to be copied has crossed; as tokens: has been computed there
  outgrown,   // it nearly fills the room that was reserved (told by grew())
  held,       // Scheduler::hold() has begun; its kernels have ended
  closed,     // the rest and the note have crossed
  confirmed,  // the router: another engine speaks under a higher turn
  resumed,    // the router: it is to speak again, under a new turn
  destination_died,
  router_died,
  timed_out,  // the move, by whoever has a clock
  // The scheduler sent it out, or its KV was lost. Scheduler::lost() would end a hold: an engine
  // that was ordered to close tells the scheduler of a loss only with `release`.
  lost,
  cancelled,  // its client is gone
  ended,      // its answer has come to its end
};
inline constexpr std::array kSourceEvents{
    SourceEvent::reserved,    SourceEvent::refused,   SourceEvent::copied,
    SourceEvent::outgrown,    SourceEvent::held,      SourceEvent::closed,
    SourceEvent::confirmed,   SourceEvent::resumed,   SourceEvent::destination_died,
    SourceEvent::router_died, SourceEvent::timed_out, SourceEvent::lost,
    SourceEvent::cancelled,   SourceEvent::ended};

enum class SourceCommand : std::uint8_t {
  copy,      // hand over the range, behind the kernels that write it
  hold,      // Scheduler::hold(), and tell `held` when it has begun
  close,     // hand over the note (note.hpp) behind the last copy: nothing follows
  withdraw,  // tell the destination that nothing (more) comes: it frees its room
  release,   // Scheduler::release(): it goes on; done already where a loss has ended the hold
  ask,       // ask the router who is to speak
  free,      // Scheduler::depart(), and free its blocks
  report,    // tell the router that it stays, and why
};

struct SourceOrder {
  SourceCommand what{};
  TokenRange range{};  // copy
  friend bool operator==(const SourceOrder&, const SourceOrder&) = default;
};

struct SourceOptions {
  Kind kind = Kind::kv;
  // Tokens that the destination keeps room for, with what the answer may grow by while it is
  // copied.
  std::uint32_t room_tokens = 0;
  // Tokens in a block: only whole blocks of KV cross while it grows.
  std::uint32_t block_tokens = 16;
  // So much left over is not worth another round before the hold.
  std::uint32_t little_tokens = 32;
};

class AQUA_API SourceMove {
 public:
  static constexpr std::uint32_t kRounds = 2;  // of copies while it goes on, at most

  // The first thing to do is to ask the destination for room. failed_precondition, with why(), when
  // the request cannot move; resource_exhausted when room_tokens are less than it has;
  // invalid_argument when block_tokens are 0.
  [[nodiscard]] static Result<SourceMove> begin(const Candidate& candidate,
                                                const SourceOptions& options);

  // `tokens` are those that can cross now: with KV (Kind::kv), or known (Kind::tokens). Heeded by
  // reserved, copied and held. What comes late is no error and orders nothing. Errors change
  // nothing:
  //   failed_precondition  this cannot happen now
  //   invalid_argument     there are fewer tokens than have crossed: what was lost, `lost` says
  [[nodiscard]] Result<std::vector<SourceOrder>> on(SourceEvent event, std::uint32_t tokens = 0);
  // After each iteration that computed it: holds it before it outgrows the room.
  [[nodiscard]] std::vector<SourceOrder> grew(std::uint32_t tokens);

  [[nodiscard]] SourceState state() const noexcept { return state_; }
  [[nodiscard]] bool over() const noexcept { return state_ >= SourceState::stays; }
  // Why it stays, once it does.
  [[nodiscard]] Stays reason() const noexcept { return reason_; }
  friend bool operator==(const SourceMove&, const SourceMove&) = default;

 private:
  explicit SourceMove(const SourceOptions& options)
      : kind_(options.kind),
        room_(options.room_tokens),
        block_(options.block_tokens),
        little_(options.little_tokens) {}
  // How many of so many tokens may cross while the source goes on.
  [[nodiscard]] std::uint32_t finished(std::uint32_t tokens) const noexcept {
    return kind_ == Kind::kv ? tokens - tokens % block_ : tokens;
  }
  [[nodiscard]] bool fills_room(std::uint32_t tokens) const noexcept;
  // Whether the second of two outcomes in a cell of the table is the one.
  [[nodiscard]] bool otherwise(SourceEvent event, std::uint32_t tokens) const noexcept;

  Kind kind_;
  std::uint32_t room_, block_, little_;
  std::uint32_t sent_ = 0, rounds_ = 0;
  SourceState state_ = SourceState::reserving;
  Stays reason_ = Stays::moves;
};

[[nodiscard]] AQUA_API std::string_view to_string(SourceState state) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(SourceEvent event) noexcept;
[[nodiscard]] AQUA_API std::string_view to_string(SourceCommand command) noexcept;

}  // namespace aqua::migration
