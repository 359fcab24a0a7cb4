// SPDX-License-Identifier: Apache-2.0
// StepTimer plays a LayerSchedule in virtual time: how long a step takes and how long it stalls,
// for given times of the link and of the layers. The link carries one move each way at a time.
//
// Units: seconds, or any other unit alike for all.
// Owns: the schedule, and where the moves under way stand between steps.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "systems/layer_swap/decide/layer_schedule.hpp"

namespace aqua::layer_swap {

struct StepTimes {
  double compute = 0;     // one layer
  double fetch = 0;       // a layer comes in
  double whole_out = 0;   // a whole layer goes out
  double write_back = 0;  // what a step wrote to a layer goes out
};

struct StepTiming {
  double seconds = 0;         // the step, with its stalls
  double stalled = 0;         // waited for layers
  double fetching = 0;        // link time of the moves posted in this step, to the device
  double writing = 0;         // and from it
  std::uint32_t fetched = 0;  // layers
};

class StepTimer {
 public:
  // Needs a schedule at the start of a step, with no move under way.
  explicit StepTimer(std::unique_ptr<LayerSchedule> schedule);
  [[nodiscard]] const LayerSchedule& schedule() const { return *schedule_; }

  // Plays one step. invalid_argument: a time is negative or no number, and nothing was played.
  [[nodiscard]] Result<StepTiming> step(const StepTimes& times);

 private:
  void post(const std::vector<Move>& moves, const StepTimes& times, StepTiming& timing);
  void complete_due();
  [[nodiscard]] double next_completion() const;

  std::unique_ptr<LayerSchedule> schedule_;
  double now_ = 0, slack_ = 0;
  std::array<double, 2> link_free_{};
  std::vector<double> frame_free_;
  std::array<std::deque<double>, 2> ends_;  // of the moves under way, by way
};

// The part that steps of the fixed schedule stall, once they are under way; 1 where such a schedule
// cannot be.
[[nodiscard]] double stalled_share(std::uint32_t layers, std::uint32_t frames,
                                   const StepTimes& times);

}  // namespace aqua::layer_swap
