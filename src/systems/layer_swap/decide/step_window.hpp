// SPDX-License-Identifier: Apache-2.0
// StepWindow keeps the measures of the last steps and answers medians of them, which a few odd
// steps do not move.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace aqua::layer_swap {

// What is known of a step when it is over. Times are of the device, by timed events.
struct StepMeasure {
  double compute_seconds = 0;        // the layers' kernels; what they waited is left out
  double stall_seconds = 0;          // they waited for layers to come in
  double fetch_seconds = 0;          // the link was busy with layers that came in
  double write_seconds = 0;          // and with blocks that went back
  std::uint64_t fetched_blocks = 0;  // a block counts once for each layer that it was fetched for
  std::uint32_t blocks_used = 0;     // by sequences that are on the device
  std::uint32_t blocks_wanted = 0;   // by these and by those that wait
  bool resizing = false;  // frames were remapped or filled meanwhile: nothing is concluded from it

  [[nodiscard]] double seconds() const { return compute_seconds + stall_seconds; }
};

class StepWindow {
 public:
  explicit StepWindow(std::size_t limit) : limit_(limit) {}

  void add(const StepMeasure& step) {
    steps_.push_back(step);
    if (steps_.size() > limit_) steps_.pop_front();
  }
  void clear() { steps_.clear(); }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] bool full() const { return steps_.size() == limit_; }

  // Needs a step.
  template <typename Of>
  [[nodiscard]] double median(Of of) const {
    std::vector<double> values;
    for (const StepMeasure& step : steps_) values.push_back(static_cast<double>(of(step)));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  // How far the median of as many steps may be off, as a part of it: twice its standard error.
  template <typename Of>
  [[nodiscard]] double noise(Of of) const {
    const double center = median(of);
    if (!(center > 0)) return 0;
    const double spread = median([&](const StepMeasure& s) { return std::abs(of(s) - center); });
    return 2 * 1.86 * spread / center / std::sqrt(static_cast<double>(steps_.size()));
  }
  template <typename Is>
  [[nodiscard]] std::size_t count(Is is) const {
    return static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), is));
  }

 private:
  std::size_t limit_;
  std::deque<StepMeasure> steps_;
};

}  // namespace aqua::layer_swap
