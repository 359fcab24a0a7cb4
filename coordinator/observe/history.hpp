// SPDX-License-Identifier: Apache-2.0
// History keeps bytes by state over the last while, for the dashboard's first look: a sample
// when something changed, at most one a second. What changes again within the second of a
// sample replaces it, so the last one is always how things are.
//
// Threads: the caller serialises.
#pragma once

#include <cstddef>
#include <deque>

#include "coordinator/observe/tally.hpp"
#include "wire/observation.hpp"

namespace aqua::coordinator {

class History {
 public:
  static constexpr std::size_t kSamples = 900;  // at least a quarter of an hour
  static constexpr ledger::Time kApart{1000};

  void add(const Tally& tally, ledger::Time now);
  [[nodiscard]] const std::deque<wire::Sample>& samples() const noexcept { return samples_; }

 private:
  std::deque<wire::Sample> samples_;
};

}  // namespace aqua::coordinator
