// SPDX-License-Identifier: Apache-2.0
// Times, sets of measurements and what is reported of them. The arithmetic is checked as it is
// compiled.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace aqua::report {

// Seconds of a clock that only goes forward.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Between the two nearest samples, linearly; q from 0 to 1. At least one sample.
constexpr double quantile(std::vector<double> samples, double q) {
  std::sort(samples.begin(), samples.end());
  const double place = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (samples[above] - samples[below]) * (place - static_cast<double>(below));
}

constexpr double median(const std::vector<double>& samples) {
  return quantile(samples, 0.5);
}

// Each sample over its partner, for sets measured in alternation.
constexpr std::vector<double> ratios(const std::vector<double>& over,
                                     const std::vector<double>& under) {
  std::vector<double> result;
  for (std::size_t i = 0; i < over.size(); ++i) result.push_back(over[i] / under[i]);
  return result;
}

static_assert(median({3, 1, 2}) == 2);
static_assert(median({4, 1, 3, 2}) == 2.5);
static_assert(median({7}) == 7);
static_assert(quantile({0, 10, 20, 30, 40}, 0.25) == 10);
static_assert(quantile({0, 10}, 1) == 10);
static_assert(ratios({6, 8}, {3, 2})[1] == 4);

}  // namespace aqua::report
