// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/measured_steps.hpp"

#include <algorithm>

#include "samples.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kTogether = 8;
constexpr std::size_t kOlder = 2;  // steps that were posted before a load began

}  // namespace

std::vector<MeasuredStep> watch_steps(Serving& serving, unsigned steps, unsigned first) {
  std::vector<MeasuredStep> all;
  LayerPoolStatus last = serving.status();
  for (unsigned number = first; number < first + steps; ++number) {
    serving.step();
    serving.engine().wait(serving.engine().posted() - 1);
    const LayerPoolStatus now = serving.status();
    const double compute = now.compute_seconds - last.compute_seconds;
    const double stall = now.stall_seconds - last.stall_seconds;
    if (compute + stall > 0)
      all.push_back({number, stall / (compute + stall), now.fetch_seconds - last.fetch_seconds});
    last = now;
  }
  return all;
}

std::vector<double> stall_shares(const std::vector<MeasuredStep>& steps) {
  std::vector<double> shares;
  for (const MeasuredStep& step : steps) shares.push_back(step.stall_share);
  return shares;
}

nlohmann::json gone_after(const std::vector<MeasuredStep>& steps) {
  const std::vector<double> shares = stall_shares(steps);
  bool stalled = false;
  for (std::size_t i = 0; i + kTogether <= shares.size(); ++i) {
    const auto from = shares.begin() + static_cast<std::ptrdiff_t>(i);
    const bool calm = median({from, from + kTogether}) <= kStall;
    if (stalled && calm) return steps[i].number;
    stalled = stalled || !calm;
  }
  return nullptr;
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
