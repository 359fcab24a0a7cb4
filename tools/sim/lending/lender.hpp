// SPDX-License-Identifier: Apache-2.0
// An engine that lends what it does not need, and takes it back when its load rises: the library's
// own ProducerPolicy on the load of a simulated engine, once a second.
#pragma once

#include <deque>
#include <functional>

#include "aqua/northbound/producer_policy.hpp"
#include "tools/sim/engine/actor.hpp"
#include "tools/sim/engine/engine.hpp"
#include "tools/sim/engine/slab_market.hpp"

namespace aqua::sim {

class Lender final : public Actor {
 public:
  // `changed` is called when slabs were offered, revoked or came back. All must outlive it.
  Lender(Engine& engine, SlabMarket& market, const ProducerPolicy& policy, double block_bytes,
         std::function<void(Picos)> changed);

  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return true; }  // ends with the others

  struct Sample {
    Picos at = 0;
    double lent_bytes = 0;
    double queue = 0;
    double requests_per_second = 0;
  };
  [[nodiscard]] const std::vector<Sample>& samples() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t offers() const noexcept { return offers_; }
  [[nodiscard]] std::uint64_t reclaims() const noexcept { return reclaims_; }

 private:
  void report(Picos now);
  void resize();

  Engine& engine_;
  SlabMarket& market_;
  ProducerPolicy policy_;
  double block_bytes_;
  std::uint32_t all_blocks_;
  std::function<void(Picos)> changed_;
  Picos tick_ = kPicosPerSecond;
  std::deque<std::size_t> arrived_;  // at the last ten ticks
  std::vector<Sample> samples_;
  std::uint64_t offers_ = 0, reclaims_ = 0;
};

}  // namespace aqua::sim
