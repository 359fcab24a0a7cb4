// SPDX-License-Identifier: Apache-2.0
// Plans: the packer's orders, carried out in their stages.
#include <algorithm>
#include <utility>

#include "tools/router/fleet/fleet.hpp"

namespace aqua::router {

void Fleet::plan_for_ever(const std::stop_token& stop) {
  const MutexLock lock(mu_);
  while (!stop.stop_requested() && !over_) {
    const auto until = Clock::now() + options_.epoch;
    while (!over_ && !wanted_ && Clock::now() < until) (void)changed_.wait_until(mu_, until);
    wanted_ = false;
    if (!over_) plan();
  }
}

void Fleet::plan() {
  ++counts_.plans;
  set_capacities();
  for (auto& [id, request] : requests_) {
    if (request.parked) {
      if (!settle(id, request).ok()) request.parked = true;
    } else if (!request.pinned) {
      (void)packer_->grew(id, std::max(request.who.tokens, request.who.mail->held_tokens.load()));
    }
  }
  set_capacities();  // engines that rest hold more now
  carry_out(packer_->epoch());
}

void Fleet::carry_out(const packing::Plan& plan) {
  for (const packing::Preemption& preempted : plan.preemptions) {
    const auto found = requests_.find(preempted.request);
    if (found == requests_.end()) continue;
    order(found->first, OrderKind::drop, packing::no_engine);
    found->second.at = found->second.to = packing::no_engine;
  }
  for (const packing::Move& move : plan.moves) {
    if (!requests_.contains(move.request)) continue;
    if (move.dropped) {
      order(move.request, OrderKind::drop, packing::no_engine);
      requests_.at(move.request).at = packing::no_engine;
    }
    pending_.push_back({move, plan.number});
  }
  begin_moves();
  for (const packing::Placement& placed : plan.placements) {
    if (requests_.contains(placed.request) && placed.engine != packing::no_engine)
      place(placed.request, placed.engine);
  }
}

// Begins the moves of the lowest stage, unless moves of an earlier one are under way.
void Fleet::begin_moves() {
  while (!pending_.empty()) {
    std::uint32_t stage = UINT32_MAX;
    for (const PendingMove& pending : pending_) stage = std::min(stage, pending.move.stage);
    for (const auto& [id, under_way] : moving_) {
      if (under_way < stage) return;
    }
    std::vector<PendingMove> now;
    std::erase_if(pending_, [&](const PendingMove& pending) {
      if (pending.move.stage != stage) return false;
      now.push_back(pending);
      return true;
    });
    for (const PendingMove& pending : now) begin_move(pending);
  }
}

void Fleet::begin_move(const PendingMove& pending) {
  const auto& move = pending.move;
  const auto found = requests_.find(move.request);
  if (found == requests_.end()) return;
  Request& request = found->second;
  const Engine* to = find(move.to);
  const bool there = to != nullptr && to->endpoint != nullptr;
  const bool busy = request.to != packing::no_engine || request.pinned || request.parked;
  if (!there || busy) {
    (void)packer_->failed(move.request, pending.plan);
    return;
  }
  if (move.dropped) {  // its KV is gone already: the engine computes it anew
    place(move.request, move.to);
    (void)packer_->moved(move.request, pending.plan);
    return;
  }
  moving_[move.request] = move.stage;
  order_move(move.request, request, move.to, pending.plan, to_string(move.reason),
             request.next_move == MoveBy::tokens);
}

}  // namespace aqua::router
