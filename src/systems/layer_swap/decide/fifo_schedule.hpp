// SPDX-License-Identifier: Apache-2.0
// FifoSchedule is the paper's protocol to the letter (Pie, 3.3). When a layer is reached and the
// last move in is complete, the hottest layer that is away comes in, if a frame is free; when the
// last move out is complete, the coldest layer on the device goes out, unless every layer away is
// colder still. Hottest is what computes next, coldest what computed last.
//
// The paper decides when a layer begins to compute. One that is away cannot begin, and what it
// waits for may not be posted: so it is asked for when it is reached, and again when a move is
// complete.
#pragma once

#include <vector>

#include "systems/layer_swap/decide/layer_schedule.hpp"

namespace aqua::layer_swap {

class FifoSchedule final : public LayerSchedule {
 public:
  explicit FifoSchedule(const LayerScheduleOptions& options);

 private:
  void on_reach(LayerIndex layer, std::vector<Move>& moves) override;
  void on_end(LayerIndex, std::vector<Move>&) override {}
  void on_free(FrameIndex frame) override { free_.push_back(frame); }
  // Steps from `layer` forwards until `other` computes.
  [[nodiscard]] std::uint32_t until(LayerIndex layer, LayerIndex other) const;
  [[nodiscard]] std::optional<LayerIndex> hottest_away(LayerIndex layer) const;
  [[nodiscard]] std::optional<LayerIndex> coldest_home(LayerIndex layer) const;

  std::vector<FrameIndex> free_;
};

}  // namespace aqua::layer_swap
