// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/measured_steps.hpp"

#include <algorithm>

#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kTogether = 8;
constexpr unsigned kOlder = 2;  // steps that were posted before a load began

bool is_stall(const MeasuredStep& step) {
  return step.stall_share > kStall;
}

}  // namespace

std::vector<double> stall_shares(const std::vector<MeasuredStep>& steps) {
  std::vector<double> shares;
  for (const MeasuredStep& step : steps) shares.push_back(step.stall_share);
  return shares;
}

nlohmann::json gone_after(const std::vector<MeasuredStep>& steps) {
  const std::vector<double> shares = stall_shares(steps);
  std::size_t eights = 0, behind = 0;  // of all eights in a row; those up to the last that stalls
  for (; eights + kTogether <= shares.size(); ++eights) {
    const auto from = shares.begin() + static_cast<std::ptrdiff_t>(eights);
    if (median({from, from + kTogether}) > kStall) behind = eights + 1;
  }
  if (behind == 0 || behind == eights) return nullptr;
  // The next share seven steps with these, whose median is a stall: some of the seven stalled.
  std::size_t last = behind + kTogether - 1;
  while (!is_stall(steps[last])) --last;
  return steps[last].number + 1;
}

std::size_t stalled_steps(const std::vector<MeasuredStep>& loaded, unsigned count) {
  return static_cast<std::size_t>(std::ranges::count_if(loaded, [&](const MeasuredStep& step) {
    return step.number > kOlder && step.number <= kOlder + count && is_stall(step);
  }));
}

nlohmann::json fetch_slowdown(const std::vector<MeasuredStep>& before,
                              const std::vector<MeasuredStep>& loaded, std::size_t count) {
  std::vector<double> quiet, busy;
  for (const MeasuredStep& step : before) quiet.push_back(step.fetch_seconds);
  for (std::size_t i = kOlder; i < std::min(count, loaded.size()); ++i)
    busy.push_back(loaded[i].fetch_seconds);
  if (quiet.empty() || busy.empty() || median(quiet) == 0) return nullptr;
  return median(busy) / median(quiet);
}

}  // namespace aqua::bench
