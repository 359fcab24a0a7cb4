// SPDX-License-Identifier: Apache-2.0
// AutoScheduler: where page-outs go.
#include <algorithm>
#include <utility>

#include "systems/schedule/decide/auto_scheduler.hpp"

namespace aqua::schedule {
namespace {

// The share of the time that a block takes from lent memory, below which the host is turned to.
constexpr double kClearlyNearer = 0.8;

}  // namespace

// Lent memory while there is room, unless a block comes back from the host sooner. Where an engine
// tells what it measures, nothing would come back from the other tier any more, and a measurement
// that was bad once would stand for ever: so one page-out goes there now and then, and ever more
// rarely as long as it changes nothing.
Tier AutoScheduler::tier_out() noexcept {
  const bool lent_has_room = options_.swap_tier == Tier::peer;
  const Tier near = host_is_nearer_ ? Tier::host : options_.swap_tier;
  if (!host_is_nearer_ && !lent_has_room) return near;
  if (!(host_is_nearer_ ? peer_told_ : host_told_)) return near;
  outs_ += 1;
  if (outs_ < try_after_ || !lent_has_room) return near;
  outs_ = 0;
  try_after_ = std::min(2 * try_after_, kRarestTry);
  return host_is_nearer_ ? Tier::peer : Tier::host;
}

// Measured times differ from copy to copy: what is as near as the other is not gone back and forth.
void AutoScheduler::on_costs(Tier told) {
  (told == Tier::host ? host_told_ : peer_told_) = true;
  const bool nearer = host_within(host_is_nearer_ ? 1 : kClearlyNearer);
  if (nearer == std::exchange(host_is_nearer_, nearer)) return;
  outs_ = 0;
  try_after_ = kFirstTry;
}

}  // namespace aqua::schedule
