// SPDX-License-Identifier: Apache-2.0
// FixedSchedule moves the same layers at the same turns of every step. Most layers stay in frames
// of their own; the others stream through a small ring, as a RingPlan lays it out. When a streamed
// layer has computed, its written blocks go out, and the next layer of its frame comes in. A layer
// has the same frame whenever it has one, so pointers to its KV never change.
#pragma once

#include <vector>

#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::layer_swap {

class FixedSchedule final : public LayerSchedule {
 public:
  FixedSchedule(const LayerScheduleOptions& options, const RingPlan& plan);

 private:
  void on_reach(LayerIndex, std::vector<Move>&) override {}
  void on_end(LayerIndex layer, std::vector<Move>& moves) override;
  void on_free(FrameIndex) override {}

  std::vector<std::vector<Move>> behind_;  // what each layer's end posts
};

}  // namespace aqua::layer_swap
