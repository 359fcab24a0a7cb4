// SPDX-License-Identifier: Apache-2.0
// Carries out the moves of plans, as an engine would (Mell, section IV).
//
// As KV: room is reserved on the other engine; what is there is copied while the request goes on;
// when that is over it leaves at the end of an iteration, and what it has computed meanwhile
// follows. As tokens: it leaves, and the other engine computes all of it again. (The paper lets it
// go on until the other has caught up, which nobody does here.)
//
// A stage begins when all moves of the one before are over.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "tools/sim/engine/actor.hpp"
#include "tools/sim/fleet/fleet_engines.hpp"

namespace aqua::sim {

class Mover final : public Actor {
 public:
  // `over` is called when a move is over, with true, or is not done. All must outlive it.
  using Over = std::function<void(const packing::Move&, std::uint64_t plan, bool done)>;
  Mover(const Ground& ground, const FleetShape& shape, RequestTable& table, FleetEngines& engines,
        Network& network, Over over);

  [[nodiscard]] Picos next() const override { return kNever; }
  void act(Picos /*now*/, Picos /*horizon*/) override {}
  void flow_ended(FlowId flow, Picos now) override;
  [[nodiscard]] bool done() const override { return true; }  // ends with the engines
  [[nodiscard]] bool steers() const override { return false; }

  // Begins what the plan orders, its first stage at once. What cannot be done within an epoch's
  // share of links and engines is not done.
  void begin(const packing::Plan& plan, Picos now);
  // An engine let the request go. False: no move wanted that.
  bool left(std::uint32_t request, Picos now);
  void ended(std::uint32_t request, Picos now);
  // The engine can take requests: moves to it that waited for that go on.
  void came_up(std::size_t engine, Picos now);
  // Says of an engine whether it serves; to be set before the first plan.
  void set_is_up(std::function<bool(std::size_t)> is_up) { is_up_ = std::move(is_up); }
  [[nodiscard]] bool idle() const noexcept { return moves_.empty(); }

  struct Counts {
    std::uint64_t kv = 0, tokens = 0, later = 0;
    double bytes = 0;
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  struct Order {
    packing::Move move{};
    bool as_kv = false;
  };
  struct Run {  // of a plan
    std::uint64_t number = 0;
    std::vector<Order> orders;  // by stage
    std::size_t begun = 0;
    std::size_t open = 0;  // of this stage
  };
  struct Under {  // a move under way
    Order order{};
    std::uint64_t plan = 0;
    std::size_t from = 0, to = 0;
    bool begun = false;  // its stage has; false: its KV is dropped before
    bool away = false;   // has left its engine
    bool copying = false;
    std::uint32_t sent = 0;      // tokens whose KV has been copied, or is being
    std::uint32_t reserved = 0;  // blocks on the other engine
  };

  [[nodiscard]] packing::Boundaries boundaries() const;
  [[nodiscard]] Under under(const Order& order, std::uint64_t plan) const;
  void next_stage(Run& run, Picos now);
  void proceed(std::uint32_t request, Picos now);
  void copy(std::uint32_t request, Under& move, std::uint32_t until, Picos now);
  void deliver(std::uint32_t request, Picos now);
  void end(std::uint32_t request, bool done, Picos now);
  void closed(std::uint64_t plan, Picos now);

  const Ground& ground_;
  const FleetShape& shape_;
  RequestTable& table_;
  FleetEngines& engines_;
  Network& network_;
  Over over_;
  std::function<bool(std::size_t)> is_up_{};
  std::deque<Run> runs_;
  std::map<std::uint32_t, Under> moves_;   // by request
  std::map<FlowId, std::uint32_t> flows_;  // to requests that have not ended
  Counts counts_;
};

}  // namespace aqua::sim
