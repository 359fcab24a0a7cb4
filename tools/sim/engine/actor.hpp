// SPDX-License-Identifier: Apache-2.0
// Whoever acts in a simulated world. The world calls; nobody calls the world back, but to say that
// somebody wants to act at another time.
#pragma once

#include <cstddef>

#include "tools/sim/engine/network.hpp"
#include "tools/sim/engine/time.hpp"

namespace aqua::sim {

class World;

class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // When it wants to act next, a time gone by for at once; kNever: only after something else has
  // happened.
  [[nodiscard]] virtual Picos next() const = 0;
  // It is `now`. Nothing that concerns it happens before `horizon`, except what it does itself: no
  // flow changes, and nobody acts who steers.
  virtual void act(Picos now, Picos horizon) = 0;
  // A flow that it owns has ended.
  virtual void flow_ended(FlowId flow, Picos now) = 0;
  // Has no work left. The world ends when all have none.
  [[nodiscard]] virtual bool done() const = 0;
  // What it does concerns others, or others change when it wants to act. The world looks at these
  // before each event, so there are to be few of them. At the others it looks when they have acted,
  // when a flow of theirs has ended, and when they say changed().
  [[nodiscard]] virtual bool steers() const { return true; }

 protected:
  // next() or done() answers otherwise now, by somebody else's doing.
  void changed();

 private:
  friend class World;
  World* world_ = nullptr;  // while it runs
  std::size_t place_ = 0;   // there
};

}  // namespace aqua::sim
