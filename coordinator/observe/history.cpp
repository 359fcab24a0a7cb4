// SPDX-License-Identifier: Apache-2.0
#include "coordinator/observe/history.hpp"

namespace aqua::coordinator {

void History::add(const Tally& tally, ledger::Time now) {
  using ledger::SlabState;
  const auto bytes = [&](SlabState state) { return tally.of(state).bytes; };
  wire::Sample sample{.at = now,
                      .offered = bytes(SlabState::offered),
                      .leased = bytes(SlabState::leased),
                      .suspect = bytes(SlabState::suspect),
                      .revoking = bytes(SlabState::revoking),
                      .orphaned = bytes(SlabState::orphaned),
                      .quarantined = bytes(SlabState::quarantined)};
  if (!samples_.empty() && now - samples_.back().at < kApart) {
    sample.at = samples_.back().at;
    samples_.back() = sample;
    return;
  }
  samples_.push_back(sample);
  if (samples_.size() > kSamples) samples_.pop_front();
}

}  // namespace aqua::coordinator
