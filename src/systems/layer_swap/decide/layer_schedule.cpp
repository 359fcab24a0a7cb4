// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/layer_schedule.hpp"

#include "base/concat.hpp"

// Invariants: a layer has a frame unless it is away, and no two layers that are home have the same.
// A frame may have one layer that leaves and one that comes: the second waits for the first. The
// table says of a layer what its last move makes of it.
namespace aqua::layer_swap {

std::string_view to_string(MoveKind kind) noexcept {
  return kind == MoveKind::in ? "in" : "out";
}

std::string_view to_string(LayerState state) noexcept {
  switch (state) {
    case LayerState::home:
      return "home";
    case LayerState::leaving:
      return "leaving";
    case LayerState::away:
      return "away";
    case LayerState::coming:
      return "coming";
  }
  return "away";
}

LayerSchedule::LayerSchedule(const LayerScheduleOptions& options)
    : table_(options.layers), frames_(options.frames) {}

void LayerSchedule::start_home(LayerIndex layer, FrameIndex frame) {
  table_[layer] = {LayerState::home, frame, 0};
}

Move LayerSchedule::post(Move move) {
  const LayerState state = move.kind == MoveKind::in ? LayerState::coming : LayerState::leaving;
  table_[move.layer] = {state, move.frame, ++moves_};
  under_way_[static_cast<std::size_t>(move.kind)].push_back({move, moves_});
  return move;
}

Result<std::vector<Move>> LayerSchedule::reach(LayerIndex layer) {
  if (layer != next_) {
    return Error{Code::invalid_argument, concat("reach: layer ", layer, ", where layer ", next_,
                                                reached_ ? " has not ended" : " is next")};
  }
  reached_ = true;
  std::vector<Move> moves;
  on_reach(layer, moves);
  return moves;
}

Result<std::vector<Move>> LayerSchedule::end(LayerIndex layer) {
  if (layer != next_ || !reached_) {
    return Error{Code::failed_precondition, concat("end: layer ", layer, " was not reached; layer ",
                                                   next_, reached_ ? " computes" : " is next")};
  }
  if (state(layer) != LayerState::home) {
    return Error{Code::failed_precondition,
                 concat("end: layer ", layer, " is ", to_string(state(layer)), ", not home")};
  }
  reached_ = false;
  next_ = (next_ + 1) % layers();
  std::vector<Move> moves;
  on_end(layer, moves);
  return moves;
}

Result<void> LayerSchedule::completed(MoveKind kind) {
  auto& queue = under_way_[static_cast<std::size_t>(kind)];
  if (queue.empty()) {
    return Error{Code::failed_precondition,
                 concat("completed: no move ", to_string(kind), " is under way")};
  }
  const auto [move, number] = queue.front();
  queue.pop_front();
  Row& row = table_[move.layer];
  // A layer may be on its way in before its way out is said to be over.
  if (row.last_move == number)
    row.state = kind == MoveKind::in ? LayerState::home : LayerState::away;
  if (kind == MoveKind::out) on_free(move.frame);
  return {};
}

LayerState LayerSchedule::state(LayerIndex layer) const {
  return layer < table_.size() ? table_[layer].state : LayerState::away;
}

std::optional<FrameIndex> LayerSchedule::frame_of(LayerIndex layer) const {
  if (state(layer) == LayerState::away) return std::nullopt;
  return table_[layer].frame;
}

}  // namespace aqua::layer_swap
