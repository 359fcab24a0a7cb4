// SPDX-License-Identifier: Apache-2.0
// How PackerBase makes a plan.
#include <algorithm>
#include <vector>

#include "systems/packing/decide/packer_base.hpp"

namespace aqua::packing {

// --- who waits -----------------------------------------------------------------------------------

void PackerBase::enqueue(const Request& request) {
  (too_large(request) ? too_large_ : waiting_).insert({request.arrival, request.id});
}

void PackerBase::dequeue(const Request& request) {
  waiting_.erase({request.arrival, request.id});
  too_large_.erase({request.arrival, request.id});
}

// What is too large has changed.
void PackerBase::requeue() {
  Waiting all;
  all.swap(waiting_);
  all.merge(too_large_);
  for (const auto& [arrival, id] : all) enqueue(fleet_.at(id));
}

// --- where requests go ---------------------------------------------------------------------------

Choice PackerBase::fit(const Request& request, const Engine* except, bool worst) {
  if (Engine* shares = fleet_.prefix_fit(request, except, worst)) return {shares, Reason::prefix};
  Engine* engine = worst ? fleet_.worst_fit(request, except) : fleet_.best_fit(request, except);
  return {engine, worst ? Reason::worst_fit : Reason::best_fit};
}

Choice PackerBase::choose(const Request& request, const Engine* except) {
  const Choice choice = place(request, except);
  if (choice.engine != nullptr) return choice;
  Engine* sleeper = fleet_.sleeper(request);
  return {sleeper, sleeper != nullptr ? Reason::wakes : Reason::waits};
}

Placement PackerBase::send(Request& request, const Choice& choice) {
  if (choice.engine == nullptr) return {request.id, no_engine, Reason::waits, false};
  Engine& engine = *choice.engine;
  const bool wakes = engine.state == EngineState::asleep;
  if (wakes) fleet_.set_state(engine, EngineState::active);
  fleet_.settle(request, engine);
  return {request.id, engine.id(), choice.reason, wakes};
}

bool PackerBase::move_off(Request& request, Reason reason, bool wake) {
  if (!draft_.affords(request)) return false;
  const Choice choice = wake ? choose(request, request.home) : place(request, request.home);
  if (choice.engine == nullptr) return false;
  draft_.relocate(request, *choice.engine, reason);
  return true;
}

// --- a plan --------------------------------------------------------------------------------------

// The largest first. Whoever has nowhere to go keeps nobody else from going.
void PackerBase::evacuate() {
  const std::set<EngineId> draining = fleet_.draining();
  for (const EngineId id : draining) {
    Engine& engine = fleet_.at(id);
    const auto all = engine.residents;
    for (auto each = all.rbegin(); each != all.rend() && draft_.moves_left() > 0; ++each) {
      fleet_.look();
      (void)move_off(fleet_.at(each->second), Reason::drains, true);
    }
  }
}

// Moves the smallest request that relieves the engine alone, or else the largest that can go. An
// engine is woken only when none of them has room on an active one.
bool PackerBase::move_one_off(Engine& engine) {
  const std::uint64_t excess = engine.staying() - engine.usable;
  for (const bool wake : {false, true}) {
    auto past = engine.residents.lower_bound({excess, RequestId{}});
    if (past != engine.residents.end()) ++past;
    while (past != engine.residents.begin() && draft_.moves_left() > 0) {
      --past;
      fleet_.look();
      if (move_off(fleet_.at(past->second), Reason::overload, wake)) return true;
    }
  }
  return false;
}

// Moves as few requests away as bring it down to what may be filled.
void PackerBase::relieve(Engine& engine) {
  while (engine.staying() > engine.usable && move_one_off(engine)) {
  }
}

// Drops what still does not fit, the last that came first; those that no engine would take again
// only when nobody else is left. This goes before the moves are put in order: they find the room,
// and no longer the prefixes, of those who go. An engine that is over its capacity has got nobody
// by this plan.
void PackerBase::preempt() {
  const std::set<EngineId> overloaded = fleet_.overloaded();
  for (const EngineId id : overloaded) {
    Engine& engine = fleet_.at(id);
    if (engine.staying() <= engine.spec.kv_tokens) continue;
    std::vector<Request*> all;
    for (const auto& [own, each] : engine.residents) all.push_back(&fleet_.at(each));
    fleet_.look(all.size());
    std::sort(all.begin(), all.end(), [&](const Request* a, const Request* b) {
      return std::pair(!too_large(*a), a->arrival) > std::pair(!too_large(*b), b->arrival);
    });
    for (Request* last : all) {
      if (engine.staying() <= engine.spec.kv_tokens) break;
      plan_.preemptions.push_back({last->id, id, fleet_.filled(*last) - last->prefix_tokens});
      fleet_.unsettle(*last);
      enqueue(*last);
    }
  }
}

// First come, first served: nobody overtakes.
void PackerBase::place_waiting() {
  while (!waiting_.empty()) {
    Request& request = fleet_.at(waiting_.begin()->second);
    const Choice choice = choose(request, nullptr);
    if (choice.engine == nullptr) return;
    plan_.placements.push_back(send(request, choice));
    waiting_.erase(waiting_.begin());
    if (plan_.placements.back().wakes) plan_.wake.push_back(choice.engine->id());
  }
}

void PackerBase::close_plan() {
  std::vector<EngineId> woken = draft_.woken();
  std::sort(woken.begin(), woken.end());
  const std::set<EngineId> empty = fleet_.empty();
  for (const EngineId id : empty) {
    fleet_.set_state(fleet_.at(id), EngineState::asleep);
    if (!std::binary_search(woken.begin(), woken.end(), id)) plan_.freed.push_back(id);
  }
  for (const EngineId id : woken) {
    if (!empty.contains(id)) plan_.wake.push_back(id);
  }
  std::sort(plan_.wake.begin(), plan_.wake.end());
  for (const EngineId id : fleet_.draining()) {
    const Engine& engine = fleet_.at(id);
    if (engine.residents.empty() && !engine.busy()) plan_.drained.push_back(id);
  }
  for (const auto& [arrival, id] : too_large_) plan_.too_large.push_back(id);
  plan_.certificate.engines = fleet_.engines_in_use();
  plan_.certificate.bound = fleet_.bound();
  plan_.certificate.within = few_enough();
  plan_.certificate.properties &= plan_.placements.empty() && plan_.preemptions.empty();
  totals_.moves += plan_.moves.size();
  totals_.preemptions += plan_.preemptions.size();
  for (const Move& move : plan_.moves) {
    totals_.moved_tokens += move.tokens;
    totals_.moved_bytes += move.bytes;
    moving_.emplace(move.request, plan_.number);
  }
}

const Plan& PackerBase::epoch() {
  const std::uint64_t number = plan_.number + 1;
  plan_ = {};
  plan_.number = number;
  const std::set<EngineId> overloaded = fleet_.overloaded();
  plan_.move_limit = options_.max_moves * std::max<std::uint64_t>(1, events_ + overloaded.size());
  events_ = 0;
  draft_.begin(plan_.move_limit);
  if (moves_) {
    evacuate();
    for (const EngineId id : overloaded) {
      Engine& engine = fleet_.at(id);
      if (engine.state == EngineState::active) relieve(engine);
    }
    improve();
    const bool promised =
        moving_.empty() && prefixes_.empty() && fleet_.draining().empty() && fleet_.alike();
    plan_.certificate.properties = promised && properties();
  }
  preempt();
  draft_.commit(plan_);
  place_waiting();
  close_plan();
  return plan_;
}

}  // namespace aqua::packing
