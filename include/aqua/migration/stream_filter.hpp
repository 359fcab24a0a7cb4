// SPDX-License-Identifier: Apache-2.0
// StreamFilter decides which of the events that engines send for one request its client sees: each
// position once, in order, and from the engine whose turn it is.
//
//   StreamFilter stream;                       // turn 1, from position 0
//   const auto passed = stream.take(1, 0);     // Passes::yes: send it
//   const Turn turn = stream.raise();          // another engine is to speak from stream.next() on
//   const auto dropped = stream.take(1, 1);    // Passes::late: the old one's
//
// Threads: not thread-safe; pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "aqua/migration/move.hpp"
#include "aqua/result.hpp"

namespace aqua::migration {

enum class Passes : std::uint8_t {
  yes,
  duplicate,  // its position has passed already
  late,       // of a turn that is over
};

class AQUA_API StreamFilter {
 public:
  // `turn` speaks, from position `next` on: what a router goes on with that has asked engines.
  explicit StreamFilter(Turn turn = 1, Position next = 0) : turn_(turn), next_(next) {}

  // Whether the event is for the client, which has the positions [first, first + count): they pass
  // together or not at all. One without tokens (count 0) passes at next() as well. aborted:
  // positions are missing before it, or only some of it have passed, and whoever speaks has to be
  // asked for them or replaced. permission_denied: its turn was never given. invalid_argument:
  // there are not so many positions. All of these change nothing.
  [[nodiscard]] Result<Passes> take(Turn turn, Position first, std::uint64_t count = 1);
  // Gives the next turn, to a speaker that begins at next(): whatever comes under earlier ones is
  // late from now on, be it missing or not.
  Turn raise() noexcept { return ++turn_; }

  [[nodiscard]] Turn turn() const noexcept { return turn_; }      // who speaks
  [[nodiscard]] Position next() const noexcept { return next_; }  // the only position that passes
  friend bool operator==(const StreamFilter&, const StreamFilter&) = default;

 private:
  Turn turn_ = 1;
  Position next_ = 0;
};

}  // namespace aqua::migration
