// SPDX-License-Identifier: Apache-2.0
// Fleet sends requests to the engines that a packer names, asks it for a plan every epoch, and does
// what the plan says: wakes engines, preempts, moves.
//
// The packer is told before an epoch how much each request has, and what it will probably have when
// the epoch is over: as much more as in the one before. An engine whose memory overflows all the
// same swaps to its host, as any does.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "tools/sim/fleet/fleet_engines.hpp"
#include "tools/sim/fleet/lent_pool.hpp"
#include "tools/sim/fleet/mover.hpp"
#include "tools/sim/fleet/power.hpp"

namespace aqua::sim {

class Fleet final : public Actor {
 public:
  // All must outlive it.
  Fleet(const Ground& ground, const FleetShape& shape, RequestTable& table, packing::Packer& packer,
        FleetEngines& engines, Mover& mover, SlabMarket* market, FleetOutcome& outcome);

  [[nodiscard]] Picos next() const override;
  void act(Picos now, Picos horizon) override;
  void flow_ended(FlowId /*flow*/, Picos /*now*/) override {}
  [[nodiscard]] bool done() const override { return over_ == table_.outcomes.size(); }
  [[nodiscard]] std::size_t over() const noexcept { return over_; }
  // When the last request was over, or was refused.
  [[nodiscard]] Picos last() const noexcept { return last_; }
  // Nothing is on its way from one engine to another.
  [[nodiscard]] bool settled() const {
    return mover_.idle() && leaving_ == 0 && (!lent_ || lent_->settled());
  }
  // The pool of a fleet that lends; else null.
  [[nodiscard]] LentPool* lent() { return lent_ ? &*lent_ : nullptr; }

  // --- told by engines and the mover -------------------------------------------------------------
  void ended(std::uint32_t request, Picos now);
  void left(std::uint32_t request, Picos now);
  void move_over(const packing::Move& move, std::uint64_t plan, bool done);

  [[nodiscard]] const Power& power() const noexcept { return power_; }

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;
  struct Row {
    std::size_t engine = kNowhere;  // where the packer has it
    bool sent = false;              // the engine knows it
    bool leaves = false;            // it was preempted, and the engine has not let it go yet
    std::uint64_t told = 0;         // tokens
    std::uint32_t generated = 0;    // at the last epoch
  };

  void arrive(std::uint32_t request, Picos now);
  void send(std::uint32_t request, std::size_t engine);
  void epoch(Picos now);
  void tell_growth();
  void preempt(std::uint32_t request);
  void carry_out(packing::Plan plan, Picos now);
  void settle_power(Picos now);
  void one_is_over(Picos now);
  void close_when_done();
  void join(std::size_t engine);
  void tell_costs();
  [[nodiscard]] double wake_cost(std::size_t engine) const;
  [[nodiscard]] Power::Rules power_rules();
  [[nodiscard]] bool used(std::size_t engine) const;
  void sample(Picos now);

  const Ground& ground_;
  const FleetShape& shape_;
  RequestTable& table_;
  packing::Packer& packer_;
  FleetEngines& engines_;
  Mover& mover_;
  SlabMarket* market_;
  FleetOutcome& outcome_;
  std::optional<LentPool> lent_{};
  Power power_;
  std::vector<Row> rows_;
  std::vector<std::vector<std::uint32_t>> pending_;  // by engine, until it is up
  std::set<std::uint32_t> live_;
  std::size_t came_ = 0, over_ = 0;
  std::size_t leaving_ = 0;  // rows that leave
  Picos last_ = 0;
  std::vector<double> told_costs_;  // of waking each engine
  Picos tick_;
  std::uint64_t epochs_ = 0;
};

}  // namespace aqua::sim
