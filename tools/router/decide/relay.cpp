// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/relay.hpp"

#include <utility>

namespace aqua::router {

// Invariants: speaker_ is a turn in speaking, warming and holding only, other_ in warming and
// holding only; held_ is empty but in holding, and after a release. Every turn is given out once.

std::string_view to_string(Phase phase) noexcept {
  constexpr std::string_view kNames[] = {"idle", "speaking", "warming", "holding", "over"};
  return kNames[static_cast<std::uint8_t>(phase)];
}

Turn Relay::begin() {
  if (phase_ != Phase::idle) return kNoTurn;
  phase_ = Phase::speaking;
  return speaker_ = ++last_;
}

Turn Relay::warm() {
  if (phase_ != Phase::speaking) return kNoTurn;
  phase_ = Phase::warming;
  return other_ = ++last_;
}

Turn Relay::warmed(Turn turn) {
  if (phase_ != Phase::warming || turn != other_) return kNoTurn;
  phase_ = Phase::holding;
  return other_ = ++last_;
}

Next Relay::pass(const Piece& piece, Next next) {
  passed_ += piece.count;
  if (piece.ends()) end();
  return next;
}

Next Relay::keep(const Piece& piece) {
  if (piece.position != passed_ + kept_) return Next::broken;
  kept_ += piece.count;
  held_.push_back(piece);
  if (!piece.ends()) return Next::nothing;
  passed_ += kept_;  // the answer is there: the move would only delay it
  phase_ = Phase::over;
  speaker_ = other_ = kNoTurn;
  return Next::release;
}

Next Relay::heard(const Piece& piece) {
  if (piece.turn == kNoTurn) return Next::nothing;
  if (piece.turn == speaker_) {
    if (phase_ == Phase::holding) return keep(piece);
    return piece.position == passed_ ? pass(piece, Next::pass) : Next::broken;
  }
  if (phase_ != Phase::holding || piece.turn != other_) return Next::nothing;
  if (piece.position != passed_) return Next::broken;
  held_.clear();
  kept_ = 0;
  phase_ = Phase::speaking;
  speaker_ = std::exchange(other_, kNoTurn);
  return pass(piece, Next::take_over);
}

Next Relay::died(Turn turn) {
  if (turn == kNoTurn || (turn != speaker_ && turn != other_)) return Next::nothing;
  if (turn == other_) return give_up();
  phase_ = Phase::idle;
  speaker_ = other_ = kNoTurn;
  held_.clear();  // what it said and nobody has heard is said again
  kept_ = 0;
  return Next::want_place;
}

Next Relay::give_up() {
  if (phase_ != Phase::warming && phase_ != Phase::holding) return Next::nothing;
  const bool held = phase_ == Phase::holding;
  phase_ = Phase::speaking;
  other_ = kNoTurn;
  passed_ += std::exchange(kept_, 0);
  return held ? Next::release : Next::move_failed;
}

void Relay::end() {
  phase_ = Phase::over;
  speaker_ = other_ = kNoTurn;
  held_.clear();
  kept_ = 0;
}

std::vector<Piece> Relay::take_held() {
  return std::exchange(held_, {});
}

}  // namespace aqua::router
