// SPDX-License-Identifier: Apache-2.0
// Engines that nobody needs keep their weights and lend all of their KV memory; one that is woken
// takes it back. The others borrow from it what they would swap to the host.
//
// What all of them lend is one pool: whoever is woken takes back as much as it lent, whichever
// slabs those are. One after the other takes back.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/slab_market.hpp"

namespace aqua::sim {

class LentPool final : public Actor {
 public:
  // `changed`: slabs were offered, revoked or came back. `returned`: the engine has its memory. The
  // market must outlive it.
  LentPool(SlabMarket& market, double engine_bytes, std::function<void(Picos)> changed,
           std::function<void(std::size_t, Picos)> returned);

  void lend(std::size_t engine, Picos now);
  void take_back(std::size_t engine, Picos now);

  [[nodiscard]] Picos next() const override { return market_.next_change(); }
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return true; }  // ends with the engines
  // Nothing is on its way back.
  [[nodiscard]] bool settled() const { return waking_.empty() && !market_.reclaiming(); }

 private:
  struct Waking {
    std::size_t engine = 0;
    bool lends_again = false;  // nobody needs it after all
  };
  void proceed(Picos now);

  SlabMarket& market_;
  const double engine_bytes_;
  std::function<void(Picos)> changed_;
  std::function<void(std::size_t, Picos)> returned_;
  std::deque<Waking> waking_;
  bool asked_ = false;    // the first one has
  double lent_ = 0;       // by engines that are not being woken
  double one_lends_ = 0;  // in whole slabs
};

}  // namespace aqua::sim
