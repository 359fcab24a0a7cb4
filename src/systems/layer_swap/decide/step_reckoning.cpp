// SPDX-License-Identifier: Apache-2.0
#include "systems/layer_swap/decide/step_reckoning.hpp"

#include <algorithm>
#include <utility>

#include "systems/layer_swap/decide/layer_schedule.hpp"
#include "systems/layer_swap/decide/ring_plan.hpp"

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
  const auto learn_rise = [&](const Layer& from) {
    const double rise = (layer.compute - from.compute) / (layer.used - from.used);
    compute_per_block_ = std::clamp(rise, 0.0, layer.compute / layer.used);
  };
  if (anchor_ && layer.used <= anchor_->used * kTellingFill) {
    // As many blocks in less time: there were prompts among it, while the pool filled.
    if (before_ && layer.compute < anchor_->compute && layer.used > before_->used * kTellingFill) {
      learn_rise(*before_);
      anchor_ = layer;
    }
    return;
  }
  if (anchor_) learn_rise(*anchor_);
  before_ = std::exchange(anchor_, layer);
}

StepTimes StepReckoning::step_of(double blocks, const Layer& now) const {
  return {.compute = now.compute + compute_per_block_ * (blocks - now.used),
          .fetch = blocks * seconds_per_block_,
          .whole_out = 0,
          .write_back = write_seconds_};
}

bool StepReckoning::surely_fits(std::uint32_t frames, double blocks, const Layer& now,
                                double tolerance) const {
  if (frames == layers_) return true;
  const StepTimes step = step_of(blocks, now);
  return step.fetch + step.write_back <= sustains_[frames] * step.compute * (1 + tolerance);
}

bool StepReckoning::fits(std::uint32_t frames, double blocks, const Layer& now,
                         double tolerance) const {
  if (surely_fits(frames, blocks, now, tolerance)) return true;
  const StepTimes step = step_of(blocks, now);
  // Writes go the other way, but they wait for the same frames.
  const double bearable = sustains_[frames] * step.compute * (1 + tolerance);
  return std::max(step.fetch, step.write_back) <= bearable &&
         stalled_share(layers_, frames, step) <= tolerance;
}

}  // namespace aqua::layer_swap
