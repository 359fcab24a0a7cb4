// SPDX-License-Identifier: Apache-2.0
#include "base/concat.hpp"
#include "systems/layer_swap/decide/fifo_schedule.hpp"
#include "systems/layer_swap/decide/fixed_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

namespace aqua::layer_swap {

Result<std::unique_ptr<LayerSchedule>> make_layer_schedule(std::string_view name,
                                                           const LayerScheduleOptions& options) {
  const auto [layers, frames, ring] = options;
  const auto refuse = [](std::string why) {
    return Error{Code::invalid_argument, "make_layer_schedule: " + std::move(why)};
  };
  if (name != "fifo" && name != "fixed") {
    return refuse(concat("no schedule \"", name, "\"; there are fifo and fixed"));
  }
  if (layers > kMostLayers) return refuse(concat(layers, " layers, of at most ", kMostLayers));
  if (frames < kLeastFrames || frames > layers) {
    return refuse(concat(frames, " frames of ", layers, " layers; from ", kLeastFrames,
                         " to as many as layers are needed"));
  }
  if (ring > kMostRing || ring > layers - frames) {
    return refuse(concat("a ring of ", ring, " frames for ", layers - frames,
                         " layers without one; at most ", kMostRing, ", and no more than those"));
  }
  if (name == "fifo") return std::unique_ptr<LayerSchedule>(new FifoSchedule(options));
  const RingPlan plan = ring == 0 ? best_ring(layers, frames) : plan_ring(layers, frames, ring);
  return std::unique_ptr<LayerSchedule>(new FixedSchedule(options, plan));
}

}  // namespace aqua::layer_swap
