// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/relay.hpp"

#include <utility>

namespace aqua::router {

using migration::Passes;
using migration::RouterEvent;
using migration::RouterMove;
using migration::RouterOrder;
using migration::RouterState;
using migration::StreamFilter;

// Invariants: speaker_ is a turn in speaking, warming, holding and moving only, other_ in warming,
// holding, moving and orphaned only (in moving kNoTurn once the destination has gone); held_ is
// empty but in holding, and after a release. Every turn is given out once. The stream's turn is
// speaks_ in speaking, warming and moving, other_ in holding.

std::string_view to_string(Phase phase) noexcept {
  constexpr std::string_view kNames[] = {"idle",   "speaking", "warming", "holding",
                                         "moving", "orphaned", "over"};
  return kNames[static_cast<std::uint8_t>(phase)];
}

Turn Relay::begin() {
  if (phase_ != Phase::idle) return kNoTurn;
  phase_ = Phase::speaking;
  return speaker_ = speaks_ = stream_.raise();
}

Turn Relay::warm() {
  if (phase_ != Phase::speaking) return kNoTurn;
  phase_ = Phase::warming;
  move_ = RouterMove();
  other_ = stream_.raise();
  speaks_ = stream_.raise();  // a warm-up's turn is over before it can speak
  return other_;
}

Turn Relay::warm_again(Turn turn) {
  if (phase_ != Phase::warming || turn != other_) return kNoTurn;
  phase_ = Phase::speaking;
  return warm();
}

Turn Relay::warmed(Turn turn) {
  if (phase_ != Phase::warming || turn != other_) return kNoTurn;
  phase_ = Phase::holding;
  ahead_ = stream_;
  return other_ = stream_.raise();
}

Turn Relay::receive() {
  const Turn turn = warm();
  if (turn != kNoTurn) phase_ = Phase::moving;
  return turn;
}

Next Relay::news(RouterEvent event, migration::Position position) {
  if (phase_ != Phase::moving && phase_ != Phase::orphaned) return Next::nothing;
  auto orders = move_.on(event, stream_, position);
  if (!orders.ok()) return Next::nothing;
  orders_ = *std::move(orders);
  switch (move_.state()) {
    case RouterState::moving:
      return Next::nothing;
    case RouterState::alone:
      other_ = kNoTurn;
      return Next::nothing;
    case RouterState::orphaned:
      phase_ = Phase::orphaned;
      speaker_ = speaks_ = kNoTurn;
      return Next::nothing;
    case RouterState::switched:
      phase_ = Phase::speaking;
      speaker_ = std::exchange(other_, kNoTurn);
      speaks_ = stream_.turn();
      return Next::switched;
    case RouterState::stays:
      phase_ = Phase::speaking;
      other_ = kNoTurn;
      speaks_ = stream_.turn();
      return Next::move_failed;
    case RouterState::recomputed:
      be_without_speaker(Phase::idle);
      return Next::want_place;
    case RouterState::finished:
      end();
      return Next::nothing;
  }
  return Next::nothing;
}

std::vector<RouterOrder> Relay::take_orders() {
  return std::exchange(orders_, {});
}

// Who has no turn is late, since the stream's is never kNoTurn.
void Relay::be_without_speaker(Phase phase) {
  phase_ = phase;
  speaker_ = speaks_ = other_ = kNoTurn;
}

Next Relay::keep(const Piece& piece) {
  const auto kept = ahead_.take(speaks_, piece.position, piece.count);
  if (!kept.ok() || *kept != Passes::yes) return Next::broken;
  held_.push_back(piece);
  if (!piece.ends()) return Next::nothing;
  (void)move_.on(RouterEvent::ended, stream_);
  stream_ = StreamFilter(stream_.turn(), ahead_.next());
  be_without_speaker(Phase::over);  // the answer is there: the move would only delay it
  return Next::release;
}

// The heir's first piece says that it has all before, and is the first of its turn.
Next Relay::take_over(const Piece& piece) {
  RouterMove move = move_;
  StreamFilter stream = stream_;
  (void)move.on(RouterEvent::confirmed, stream, piece.position);
  if (move.state() != RouterState::switched) return Next::broken;
  const auto taken = stream.take(stream.turn(), piece.position, piece.count);
  if (!taken.ok() || *taken != Passes::yes) return Next::broken;
  move_ = move;
  stream_ = stream;
  held_.clear();
  phase_ = Phase::speaking;
  speaker_ = std::exchange(other_, kNoTurn);
  speaks_ = stream_.turn();
  if (piece.ends()) end();
  return Next::take_over;
}

Next Relay::heard(const Piece& piece) {
  const bool speaks = piece.turn == speaker_ && piece.turn != kNoTurn;
  if (phase_ == Phase::holding) {
    if (speaks) return keep(piece);
    return piece.turn == other_ ? take_over(piece) : Next::nothing;
  }
  const auto taken = stream_.take(speaks ? speaks_ : kNoTurn, piece.position, piece.count);
  if (taken.ok() && *taken == Passes::late) return Next::nothing;
  if (!taken.ok() || *taken != Passes::yes) return Next::broken;
  if (piece.ends()) end();
  return Next::pass;
}

Next Relay::died(Turn turn) {
  if (turn == kNoTurn || (turn != speaker_ && turn != other_)) return Next::nothing;
  if (phase_ == Phase::moving || phase_ == Phase::orphaned)
    return news(turn == other_ ? RouterEvent::destination_died : RouterEvent::source_died);
  if (turn == other_) return give_up();
  if (phase_ != Phase::speaking) {  // nobody is asked whether it has all: tokens are sent anew
    (void)move_.on(RouterEvent::source_died, stream_);
    (void)move_.on(RouterEvent::failed, stream_);
  }
  be_without_speaker(Phase::idle);
  held_.clear();  // what it said and nobody has heard is said again
  return Next::want_place;
}

Next Relay::give_up() {
  if (phase_ != Phase::warming && phase_ != Phase::holding) return Next::nothing;
  other_ = kNoTurn;
  const bool held = std::exchange(phase_, Phase::speaking) == Phase::holding;
  if (held) stream_ = StreamFilter(stream_.turn(), ahead_.next());
  (void)move_.on(RouterEvent::failed, stream_);
  (void)move_.on(RouterEvent::asked, stream_);
  speaks_ = stream_.turn();
  return held ? Next::release : Next::move_failed;
}

void Relay::end() {
  be_without_speaker(Phase::over);
  held_.clear();
}

std::vector<Piece> Relay::take_held() {
  return std::exchange(held_, {});
}

}  // namespace aqua::router
