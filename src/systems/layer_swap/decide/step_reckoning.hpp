// SPDX-License-Identifier: Apache-2.0
// StepReckoning foretells whether steps with fewer frames stall, from what steps have measured: how
// long the link takes to bring a block and to take back what was written, and how much longer a
// layer computes when it reads more blocks.
//
// Units: seconds of one layer; blocks.
// Threads: not thread-safe; deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "systems/layer_swap/decide/step_timer.hpp"
#include "systems/layer_swap/decide/step_window.hpp"

namespace aqua::layer_swap {

class StepReckoning {
 public:
  // What one layer does in the steps of a window.
  struct Layer {
    double compute = 0;
    double used = 0;
  };

  // To fetch a block takes so long; 0: not known.
  StepReckoning(std::uint32_t layers, double seconds_per_block);

  // Takes over what the window says, whose steps had so many frames. Answers whether they fetched,
  // so that the link's time is of this window.
  bool learn(const StepWindow& window, std::uint32_t frames, const Layer& layer);
  // Whether steps of so many frames that use so many blocks stall for at most `tolerance` of their
  // time, where a layer does `now` what was measured. Plays some steps where it is close.
  [[nodiscard]] bool fits(std::uint32_t frames, double blocks, const Layer& now,
                          double tolerance) const;
  // Likewise, and never plays: false where it is close.
  [[nodiscard]] bool surely_fits(std::uint32_t frames, double blocks, const Layer& now,
                                 double tolerance) const;

  [[nodiscard]] double seconds_per_block() const { return seconds_per_block_; }
  void set_seconds_per_block(double seconds) { seconds_per_block_ = seconds; }
  // By what a layer computes longer with a block more, as learnt last.
  [[nodiscard]] double compute_per_block() const { return compute_per_block_; }

 private:
  struct Ring {
    double sustains = 0;  // as RingPlan's
    double streamed = 0;  // layers
  };
  [[nodiscard]] StepTimes step_of(double blocks, const Layer& now) const;

  std::uint32_t layers_;
  std::vector<Ring> rings_;  // by frames
  double seconds_per_block_ = 0;
  double write_per_block_ = 0;  // used by a streamed layer, most of which it does not write
  double compute_per_block_ = 0;
  std::optional<Layer> anchor_, before_;  // of earlier windows, each with other blocks
};

}  // namespace aqua::layer_swap
