// SPDX-License-Identifier: Apache-2.0
// Relay decides, of one request, which attempt speaks to the client: while it is answered by one
// engine, moves to another, or is continued because its engine is gone. Each position of the answer
// passes once, in order, whatever engines say and when.
//
// A move by tokens has three steps. The destination computes the ids so far while the source goes
// on (warming), and where many came meanwhile those as well. Then what the source says is held, and
// the destination continues from the last position that passed: only the few ids since the last
// warm-up began are new to its prefix cache (holding). With its first piece it takes over, and what
// was held is forgotten; so that nothing is said twice even where engines draw differently. Where
// it fails or is late, what was held passes, and the source goes on as if nothing had been.
//
// A move by KV is the engines' own: the source holds the request and hands it over, the destination
// waits for the grant of a turn, and both tell what happens (moving, orphaned).
//
// What passes is decided by the wing's StreamFilter (aqua/migration/stream_filter.hpp), who speaks
// by its RouterMove. Of a move by KV its events come from the engines, by news(), and its orders go
// to them. Engines that only take and tell tokens do not hold, wait or ask: there the router holds
// what the source says, an heir's first piece confirms, and a source that goes on has asked.
//
//   phase     speaks    other        what ends it
//   idle      -         -            begin()
//   speaking  speaker   -            warm(); receive(); its last piece; its death: idle
//   warming   speaker   warm-up      warmed(); warm_again(): warming; the warm-up's death, or
//                                    give_up(): speaking; the speaker's last piece: over; its
//                                    death: idle
//   holding   (held)    heir         the heir's first piece: speaking; the heir's death, or
//                                    give_up(): speaking; the speaker's last piece: over; its
//                                    death: idle
//   moving    speaker   destination  news(): speaking; the speaker's last piece: over; its death:
//                                    orphaned, or idle where the destination has gone before
//   orphaned  -         destination  news(): speaking, or idle; the destination's death: idle
//   over      -         -
//
// Where the speaker dies in a move by tokens the move is off: the answer is continued from what
// passed, as without one.
//
// Threads: not thread-safe. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "aqua/migration/router.hpp"
#include "aqua/migration/stream_filter.hpp"
#include "tools/router/decide/piece.hpp"

namespace aqua::router {

enum class Phase : std::uint8_t { idle, speaking, warming, holding, moving, orphaned, over };
[[nodiscard]] std::string_view to_string(Phase phase) noexcept;

// What the caller does about what it told. In a move by KV it carries out take_orders() first.
enum class Next : std::uint8_t {
  nothing,      // goes on as before; a piece is kept, or is of an attempt that is over
  pass,         // the piece goes to the client
  take_over,    // likewise, and the former speaker is cut: the move is done
  release,      // what take_held() answers goes to the client; the heir is cut: the move failed
  move_failed,  // the source goes on; the warm-up or the heir is cut
  want_place,   // nobody speaks or will: begin() on another engine
  broken,       // the attempt left its order: as if it had died
  switched,     // the destination was granted the turn: the source is cut, the move is done
};

class Relay {
 public:
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  // Tokens that have passed: where an attempt that begins now begins.
  [[nodiscard]] std::uint64_t passed() const noexcept { return stream_.next(); }
  [[nodiscard]] Turn speaker() const noexcept { return speaker_; }
  // The warm-up, the heir or the destination, kNoTurn if there is none.
  [[nodiscard]] Turn other() const noexcept { return other_; }

  // The turn of an attempt that begins at passed(), or kNoTurn unless idle. It speaks from now on.
  [[nodiscard]] Turn begin();
  // The turn of a warm-up, or kNoTurn unless speaking.
  [[nodiscard]] Turn warm();
  // The warm-up has ended well, and much has passed meanwhile: the turn of another one, which
  // computes that as well. kNoTurn for any other turn.
  [[nodiscard]] Turn warm_again(Turn turn);
  // The warm-up has ended well: the turn of the heir, which begins at passed(). kNoTurn for any
  // other turn.
  [[nodiscard]] Turn warmed(Turn turn);
  // The turn of the destination of a move by KV, or kNoTurn unless speaking.
  [[nodiscard]] Turn receive();
  // What an engine says of the move by KV, or time. `position` is heeded by confirmed.
  [[nodiscard]] Next news(migration::RouterEvent event, migration::Position position = 0);
  // What the engines are to be told, by news() and died(); call it once after each. `turn` of an
  // order is the stream's, which no engine has to know.
  [[nodiscard]] std::vector<migration::RouterOrder> take_orders();
  [[nodiscard]] Next heard(const Piece& piece);
  // The attempt ended before its last piece.
  [[nodiscard]] Next died(Turn turn);
  // The move by tokens under way is off: it takes too long, or is not wanted any more.
  [[nodiscard]] Next give_up();
  // The client has gone, or has all it wants.
  void end();
  // What was held and passes now; call it once after `release`.
  [[nodiscard]] std::vector<Piece> take_held();

 private:
  [[nodiscard]] Next keep(const Piece& piece);
  [[nodiscard]] Next take_over(const Piece& piece);
  void be_without_speaker(Phase phase);

  Phase phase_ = Phase::idle;
  migration::StreamFilter stream_{};  // the client's; its first turn is nobody's
  Turn speaker_ = kNoTurn;            // as its pieces have it
  Turn speaks_ = kNoTurn;             // the turn that it has by now
  Turn other_ = kNoTurn;
  migration::RouterMove move_{};  // but in idle, speaking and over
  std::vector<migration::RouterOrder> orders_{};
  migration::StreamFilter ahead_{};  // in holding: the client's, had what is held passed
  std::vector<Piece> held_{};
};

}  // namespace aqua::router
