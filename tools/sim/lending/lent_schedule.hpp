// SPDX-License-Identifier: Apache-2.0
// What a neighbour lends, changed at given times: it takes back what lies above the new amount,
// and offers anew what is missing. The borrowing engine moves its sequences off revoked slabs and
// back when there is room again.
#pragma once

#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/slab_market.hpp"
#include "tools/sim/lending/lent_change.hpp"

namespace aqua::sim {

class LentSchedule final : public Actor {
 public:
  // `changes` by time. A change waits for a reclaim before it to end. All must outlive it.
  LentSchedule(const std::vector<LentChange>& changes, SlabMarket& market, Engine& engine)
      : changes_(changes), market_(market), engine_(engine) {}

  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return true; }  // ends with the engine

 private:
  const std::vector<LentChange>& changes_;
  std::size_t done_ = 0;
  SlabMarket& market_;
  Engine& engine_;
};

}  // namespace aqua::sim
