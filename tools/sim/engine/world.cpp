// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/engine/world.hpp"

#include <algorithm>

namespace aqua::sim {
namespace {

bool all_done(const std::vector<Actor*>& actors) {
  return std::all_of(actors.begin(), actors.end(), [](const Actor* a) { return a->done(); });
}

}  // namespace

bool run_world(Network& network, const std::vector<Actor*>& actors,
               const std::function<void(Picos now)>& observe) {
  constexpr std::uint64_t kObserveEvery = 1 << 14;  // instants
  Picos now = 0;
  for (std::uint64_t instants = 0; !all_done(actors); ++instants) {
    Picos soonest = network.next_change();
    for (const Actor* actor : actors) soonest = std::min(soonest, actor->next());
    if (soonest == kNever) return false;
    now = std::max(now, soonest);
    if (observe && instants % kObserveEvery == 0) observe(now);
    for (const FlowId flow : network.advance(now)) {
      for (Actor* actor : actors) actor->flow_ended(flow, now);
    }
    for (Actor* actor : actors) {
      if (actor->next() > now) continue;
      Picos horizon = network.next_change();
      for (const Actor* other : actors) {
        if (other != actor) horizon = std::min(horizon, other->next());
      }
      actor->act(now, horizon);
    }
  }
  return true;
}

}  // namespace aqua::sim
