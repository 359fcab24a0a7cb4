// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/fifo_schedule.hpp"

namespace aqua::layer_swap {

FifoSchedule::FifoSchedule(const LayerScheduleOptions& options) : LayerSchedule(options) {
  for (LayerIndex layer = 0; layer < frames(); ++layer) start_home(layer, layer);
}

std::uint32_t FifoSchedule::until(LayerIndex layer, LayerIndex other) const {
  return other >= layer ? other - layer : other + layers() - layer;
}

std::optional<LayerIndex> FifoSchedule::hottest_away(LayerIndex layer) const {
  for (std::uint32_t ahead = 0; ahead < layers(); ++ahead) {
    const LayerIndex other = (layer + ahead) % layers();
    if (state(other) == LayerState::away) return other;
  }
  return std::nullopt;
}

std::optional<LayerIndex> FifoSchedule::coldest_home(LayerIndex layer) const {
  for (std::uint32_t back = 1; back < layers(); ++back) {
    const LayerIndex other = (layer + layers() - back) % layers();
    if (state(other) == LayerState::home) return other;
  }
  return std::nullopt;
}

void FifoSchedule::on_reach(LayerIndex layer, std::vector<Move>& moves) {
  // The hottest is looked for first, and once: the layer that goes out now stays out for a while.
  const auto hottest = hottest_away(layer);
  const auto coldest = coldest_home(layer);
  if (hottest && !free_.empty() && under_way(MoveKind::in) == 0) {
    moves.push_back(post({MoveKind::in, *hottest, free_.front(), true}));
    free_.erase(free_.begin());
  }
  if (!coldest || under_way(MoveKind::out) != 0) return;
  // What just came off the queue is no longer away; the next hottest says whether all are colder.
  const auto left = moves.empty() ? hottest : hottest_away(layer);
  if (left && until(layer, *left) < until(layer, *coldest)) {
    moves.push_back(post({MoveKind::out, *coldest, *frame_of(*coldest), true}));
  }
}

}  // namespace aqua::layer_swap
