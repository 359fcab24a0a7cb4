// SPDX-License-Identifier: Apache-2.0
// A GPU on which several engines compute, in one of three ways:
//
//   temporal  one iteration at a time, with all multiprocessors, in the order in which they are
//             ready
//   fixed     side by side, each with a part of the multiprocessors that stays (MPS percentages)
//   by_load   in turn or side by side, with parts, as SmShares decides; who finds the others idle
//             takes all (green contexts, chosen for each iteration by its stream)
//
// No multiprocessor is ever given out twice: who would need one that another iteration has waits
// until that ends. What is side by side shares the memory's bandwidth: an iteration is as much
// longer as all together want more of it than there is, counted at its beginning. Where the profile
// knows how fast a phase is beside the other one, that is what counts between these two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "aqua/sharing/sm_shares.hpp"
#include "tools/sim/share/gpu_share.hpp"

namespace aqua::sim {

enum class GpuSharing : std::uint8_t { temporal, fixed, by_load };

// An engine's phase on a part of a GPU.
struct PhaseProfile {
  sharing::SpeedCurve speed{};
  double bandwidth = 0;  // of the memory's, that it uses with all multiprocessors
  // While another engine is in the other phase. None: they share the bandwidth.
  std::optional<sharing::SpeedCurve> beside_the_other{};
};
struct SharingProfile {
  PhaseProfile prefill{.speed = {}, .bandwidth = 0.3};
  // MuxServe, figure 3: decode hardly slows down until it has less than half of them.
  PhaseProfile decode{.speed = {.points = {{0.4, 1}, {1, 1}}}, .bandwidth = 0.8};
};

// What green contexts of an H100 showed
// (bench/results/gpu/gpu_green_contexts-h100-2026-11-26.json). Decode was a loop that reads memory
// and nothing else, and slows prefill down as much as anything can. With less than 0.55 of the
// multiprocessors prefill was not measured beside it: there it is taken to lose the same part of
// its speed.
[[nodiscard]] SharingProfile measured_on_h100();

class SharedGpu {
 public:
  // `shares` add up to 1; temporal needs none, but their number.
  SharedGpu(GpuSharing how, const std::vector<double>& shares, const SharingProfile& profile);
  ~SharedGpu();
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;

  [[nodiscard]] GpuShare& of(std::size_t engine);
  // From now on, for iterations that begin once those under way have ended.
  void set_shares(const sharing::SmShares& shares);
  // Seconds that an engine's iterations would have taken alone, since the last time that this was
  // asked: with prefill among them, and without.
  struct Busy {
    double prefill = 0, decode = 0;
  };
  [[nodiscard]] Busy take_busy(std::size_t engine);

 private:
  class Part;

  [[nodiscard]] Picos begin(Part& part, Picos now, Picos alone, bool prefills);

  const GpuSharing how_;
  const SharingProfile profile_;
  std::vector<std::unique_ptr<Part>> parts_;
  bool in_turn_;
  Picos free_at_ = 0;     // in turn: all of it
  Picos not_before_ = 0;  // shares have changed: those under way have the old ones
};

}  // namespace aqua::sim
