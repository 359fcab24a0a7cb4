// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/outage_times.hpp"

#include <algorithm>
#include <cassert>

namespace aqua::sim {
namespace {

constexpr std::uint64_t kSeedsApart = 0x9E3779B97F4A7C15;  // of neighbouring seeds; odd

}  // namespace

OutageTimes::OutageTimes(const PipelineShape& shape) : named_(shape.outages) {
  if (!shape.outage_rate) return;
  mean_seconds_ = shape.outage_rate->mean_seconds;
  std::uint64_t number = 0;
  for (std::uint32_t pipeline = 0; pipeline < shape.token.pipelines; ++pipeline) {
    for (std::uint32_t stage = 0; stage < shape.token.depth; ++stage) {
      machines_.push_back({.random = Random(shape.outage_rate->seed * kSeedsApart + ++number),
                           .pipeline = pipeline,
                           .stage = stage});
      advance(machines_.back());
    }
  }
  find_next();
}

Picos OutageTimes::next() const noexcept {
  return taken_ < named_.size() ? std::min(named_[taken_].at, random_.at) : random_.at;
}

Outage OutageTimes::take() {
  assert(next() != kNever);
  if (taken_ < named_.size() && named_[taken_].at <= random_.at) return named_[taken_++];
  const Outage taken = random_;
  advance(machines_[of_]);
  find_next();
  return taken;
}

void OutageTimes::advance(Machine& machine) const {
  machine.seconds += machine.random.exponential(mean_seconds_);
}

void OutageTimes::find_next() {
  const auto soonest = std::ranges::min_element(machines_, {}, &Machine::seconds);
  of_ = static_cast<std::size_t>(soonest - machines_.begin());
  random_ = {.at = soonest->seconds < kMostSeconds ? picos(soonest->seconds) : kNever,
             .pipeline = soonest->pipeline,
             .stage = soonest->stage};
}

}  // namespace aqua::sim
