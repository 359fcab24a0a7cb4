// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/fixed_schedule.hpp"

#include <algorithm>

// Layers come in in the order in which they compute, since a link carries what is posted first. So
// a fetch is posted at the end of the layer before it in its frame, or at the end of a later one,
// where the fetch before it is posted only then.
namespace aqua::layer_swap {

FixedSchedule::FixedSchedule(const LayerScheduleOptions& options, const RingPlan& plan)
    : LayerSchedule(options), behind_(options.layers) {
  const FrameIndex first_of_ring = frames() - plan.ring;
  const std::size_t count = plan.streamed.size();
  const auto frame_at = [&](std::size_t j) { return first_of_ring + plan.slot[j % count]; };
  // Counts streamed layers on from step to step. The second step is like every other, and its last
  // fetches are for layers of the third.
  std::vector<std::size_t> last_in_slot(plan.ring);
  std::size_t posted_behind = 0;
  for (std::size_t j = 0; j < 3 * count; ++j) {
    const LayerIndex layer = plan.streamed[j % count];
    std::size_t& before = last_in_slot[plan.slot[j % count]];
    posted_behind = std::max(posted_behind, before);
    before = j;
    if (j < count) behind_[layer].push_back({MoveKind::out, layer, frame_at(j), false});
    if (posted_behind < count || posted_behind >= 2 * count) continue;
    behind_[plan.streamed[posted_behind % count]].push_back(
        {MoveKind::in, layer, frame_at(j), true});
    if (j >= 2 * count) start_home(layer, frame_at(j));
  }
  FrameIndex own = 0;
  for (LayerIndex layer = 0; layer < layers(); ++layer) {
    if (behind_[layer].empty()) start_home(layer, own++);
  }
}

void FixedSchedule::on_end(LayerIndex layer, std::vector<Move>& moves) {
  for (const Move& move : behind_[layer]) moves.push_back(post(move));
}

}  // namespace aqua::layer_swap
