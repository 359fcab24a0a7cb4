// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/step_reckoning.hpp"

#include <algorithm>

#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"
#include "systems/layer_swap/decide/step_timer.hpp"

namespace aqua::layer_swap {
namespace {

constexpr double kTellingFill = 1.25;  // of the blocks used, to learn what blocks cost to compute

}  // namespace

StepReckoning::StepReckoning(std::uint32_t layers, double seconds_per_block)
    : layers_(layers), sustains_(layers + 1), seconds_per_block_(seconds_per_block) {
  for (std::uint32_t frames = kLeastFrames; frames <= layers; ++frames)
    sustains_[frames] = best_ring(layers, frames).sustains;
}

void StepReckoning::learn(const StepWindow& window, std::uint32_t frames, const Layer& layer) {
  const auto fetches = [](const StepMeasure& s) { return s.fetched_blocks > 0; };
  if (window.count(fetches) > window.size() / 2) {
    seconds_per_block_ = window.median([](const StepMeasure& s) {
      return s.fetch_seconds / static_cast<double>(std::max<std::uint64_t>(s.fetched_blocks, 1));
    });
    const double streamed = layers_ - frames + 2.0;
    write_seconds_ = window.median([](const StepMeasure& s) { return s.write_seconds; }) / streamed;
  }
  if (anchor_ && layer.used <= anchor_->used * kTellingFill) return;
  if (anchor_) {
    const double rise = (layer.compute - anchor_->compute) / (layer.used - anchor_->used);
    compute_per_block_ = std::clamp(rise, 0.0, layer.compute / layer.used);
  }
  anchor_ = layer;
}

bool StepReckoning::fits(std::uint32_t frames, double blocks, const Layer& now,
                         double tolerance) const {
  if (frames == layers_) return true;
  const StepTimes step{.compute = now.compute + compute_per_block_ * (blocks - now.used),
                       .fetch = blocks * seconds_per_block_,
                       .whole_out = 0,
                       .write_back = write_seconds_};
  // Played only where it is close: writes go the other way, but they wait for the same frames.
  const double bearable = sustains_[frames] * step.compute * (1 + tolerance);
  if (step.fetch + step.write_back <= bearable) return true;
  if (std::max(step.fetch, step.write_back) > bearable) return false;
  return stalled_share(layers_, frames, step) <= tolerance;
}

}  // namespace aqua::layer_swap
