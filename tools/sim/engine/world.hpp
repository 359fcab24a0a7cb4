// SPDX-License-Identifier: Apache-2.0
// Virtual time: runs actors and the network from one event to the next. At one instant flows end
// first, then actors act in the order they were added, so a run depends on nothing else.
#pragma once

#include <functional>
#include <vector>

#include "tools/sim/engine/actor.hpp"

namespace aqua::sim {

// Until every actor is done, or nothing more can happen (then false: somebody waits for ever).
// `observe` is called before an instant's events, now and again, for a progress bar; may be empty.
// An event costs O(log n) of n actors that do not steer, and O(k) of k that do.
bool run_world(Network& network, const std::vector<Actor*>& actors,
               const std::function<void(Picos now)>& observe = {});

}  // namespace aqua::sim
