// SPDX-License-Identifier: Apache-2.0
// Whoever acts in a simulated world. The world calls; nobody calls the world back.
#pragma once

#include "tools/sim/engine/network.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // When it wants to act next, a time gone by for at once; kNever: only after something else has
  // happened.
  [[nodiscard]] virtual Picos next() const = 0;
  // It is `now`. Nothing else happens before `horizon`, except what this actor does itself.
  virtual void act(Picos now, Picos horizon) = 0;
  // One of the network's flows has ended, perhaps somebody else's.
  virtual void flow_ended(FlowId flow, Picos now) = 0;
  // Has no work left. The world ends when all that count have none.
  [[nodiscard]] virtual bool done() const = 0;
};

}  // namespace aqua::sim
