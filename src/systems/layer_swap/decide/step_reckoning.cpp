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
    : layers_(layers), rings_(layers + 1), seconds_per_block_(seconds_per_block) {
  for (std::uint32_t frames = kLeastFrames; frames <= layers; ++frames) {
    const RingPlan plan = best_ring(layers, frames);
    rings_[frames] = {plan.sustains, static_cast<double>(plan.streamed.size())};
  }
}

bool StepReckoning::learn(const StepWindow& window, std::uint32_t frames, const Layer& layer) {
  const auto fetches = [](const StepMeasure& s) { return s.fetched_blocks > 0; };
  const bool fetched = window.count(fetches) > window.size() / 2;
  if (fetched) {
    seconds_per_block_ = window.median([](const StepMeasure& s) {
      return s.fetch_seconds / static_cast<double>(std::max<std::uint64_t>(s.fetched_blocks, 1));
    });
    const double blocks = layer.used * rings_[frames].streamed;
    const double written = window.median([](const StepMeasure& s) { return s.write_seconds; });
    write_per_block_ = blocks > 0 ? written / blocks : 0;
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
    return fetched;
  }
  if (anchor_) learn_rise(*anchor_);
  before_ = std::exchange(anchor_, layer);
  return fetched;
}

StepTimes StepReckoning::step_of(double blocks, const Layer& now) const {
  return {.compute = now.compute + compute_per_block_ * (blocks - now.used),
          .fetch = blocks * seconds_per_block_,
          .whole_out = 0,
          .write_back = blocks * write_per_block_};
}

bool StepReckoning::surely_fits(std::uint32_t frames, double blocks, const Layer& now,
                                double tolerance) const {
  if (frames == layers_) return true;
  const StepTimes step = step_of(blocks, now);
  return step.fetch + step.write_back <= rings_[frames].sustains * step.compute * (1 + tolerance);
}

bool StepReckoning::fits(std::uint32_t frames, double blocks, const Layer& now,
                         double tolerance) const {
  if (surely_fits(frames, blocks, now, tolerance)) return true;
  const StepTimes step = step_of(blocks, now);
  const double busier_way = std::max(step.fetch, step.write_back);
  return busier_way <= rings_[frames].sustains * step.compute * (1 + tolerance) &&
         stalled_share(layers_, frames, step) <= tolerance;
}

}  // namespace aqua::layer_swap
