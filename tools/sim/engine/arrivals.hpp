// SPDX-License-Identifier: Apache-2.0
// Sends each request of a workload to one engine, when it comes.
#pragma once

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/input/workload.hpp"

namespace aqua::sim {

class Arrivals final : public Actor {
 public:
  // Both must outlive it.
  Arrivals(const Workload& workload, Engine& engine) : workload_(workload), engine_(engine) {
    if (workload.requests.empty()) engine.close();
  }

  [[nodiscard]] Picos next() const override {
    return done() ? kNever : workload_.requests[came_].arrival;
  }
  void act(Picos now, Picos /*horizon*/) override {
    for (; !done() && workload_.requests[came_].arrival <= now; ++came_) {
      engine_.submit(static_cast<std::uint32_t>(came_));
    }
    if (done()) engine_.close();
  }
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return came_ == workload_.requests.size(); }

 private:
  const Workload& workload_;
  Engine& engine_;
  std::size_t came_ = 0;
};

}  // namespace aqua::sim
