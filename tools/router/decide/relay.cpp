// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/relay.hpp"

#include <utility>

namespace aqua::router {

using migration::Passes;
using migration::StreamFilter;

// Invariants: speaker_ is a turn in speaking, warming and holding only, other_ in warming and
// holding only; held_ is empty but in holding, and after a release. Every turn is given out once.
// The stream's turn is speaks_ in speaking and warming, other_ in holding.

std::string_view to_string(Phase phase) noexcept {
  constexpr std::string_view kNames[] = {"idle", "speaking", "warming", "holding", "over"};
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
  other_ = stream_.raise();
  speaks_ = stream_.raise();  // a warm-up's turn is over before it can speak
  return other_;
}

Turn Relay::warmed(Turn turn) {
  if (phase_ != Phase::warming || turn != other_) return kNoTurn;
  phase_ = Phase::holding;
  ahead_ = stream_;
  return other_ = stream_.raise();
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
  stream_ = StreamFilter(stream_.turn(), ahead_.next());
  be_without_speaker(Phase::over);  // the answer is there: the move would only delay it
  return Next::release;
}

Next Relay::heard(const Piece& piece) {
  const bool speaks = piece.turn == speaker_;
  if (speaks && phase_ == Phase::holding) return keep(piece);
  const Turn turn = speaks ? speaks_ : piece.turn == other_ ? other_ : kNoTurn;
  const auto taken = stream_.take(turn, piece.position, piece.count);
  if (taken.ok() && *taken == Passes::late) return Next::nothing;
  if (!taken.ok() || *taken != Passes::yes) return Next::broken;
  if (!speaks) {  // the heir: a warm-up's turn is over
    held_.clear();
    phase_ = Phase::speaking;
    speaker_ = speaks_ = std::exchange(other_, kNoTurn);
  }
  if (piece.ends()) end();
  return speaks ? Next::pass : Next::take_over;
}

Next Relay::died(Turn turn) {
  if (turn == kNoTurn || (turn != speaker_ && turn != other_)) return Next::nothing;
  if (turn == other_) return give_up();
  be_without_speaker(Phase::idle);
  held_.clear();  // what it said and nobody has heard is said again
  return Next::want_place;
}

Next Relay::give_up() {
  if (phase_ != Phase::warming && phase_ != Phase::holding) return Next::nothing;
  other_ = kNoTurn;
  if (std::exchange(phase_, Phase::speaking) == Phase::warming) return Next::move_failed;
  stream_ = StreamFilter(stream_.turn(), ahead_.next());
  speaks_ = stream_.raise();
  return Next::release;
}

void Relay::end() {
  be_without_speaker(Phase::over);
  held_.clear();
}

std::vector<Piece> Relay::take_held() {
  return std::exchange(held_, {});
}

}  // namespace aqua::router
