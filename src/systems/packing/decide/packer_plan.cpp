// SPDX-License-Identifier: Apache-2.0
// How PackerBase makes a plan.
#include <algorithm>
#include <vector>

#include "systems/packing/decide/packer_base.hpp"

namespace aqua::packing {

// --- who waits -----------------------------------------------------------------------------------

void PackerBase::enqueue(const Request& request) {
  const bool large = request.own + request.prefix_tokens > fleet_.reference();
  (large ? too_large_ : waiting_).insert({request.arrival, request.id});
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

bool PackerBase::move_off(Request& request, Reason reason) {
  if (!draft_.affords(request)) return false;
  const Choice choice = choose(request, request.home);
  if (choice.engine == nullptr) return false;
  draft_.relocate(request, *choice.engine, reason);
  return true;
}

// --- a plan
// ----------------------------------------------------------------------------------------

void PackerBase::evacuate() {
  const std::set<EngineId> draining = fleet_.draining();
  for (const EngineId id : draining) {
    Engine& engine = fleet_.at(id);
    while (!engine.residents.empty()) {
      fleet_.look();
      if (!move_off(fleet_.at(engine.residents.rbegin()->second), Reason::drains)) break;
    }
  }
}

// Moves as few requests away as bring it down to what may be filled: the smallest that does it
// alone, or else the largest first.
void PackerBase::relieve(Engine& engine) {
  while (engine.staying() > engine.usable && !engine.residents.empty()) {
    const std::uint64_t excess = engine.staying() - engine.usable;
    auto found = engine.residents.lower_bound({excess, RequestId{}});
    if (found == engine.residents.end()) --found;
    fleet_.look();
    if (!move_off(fleet_.at(found->second), Reason::overload)) return;
  }
}

// Drops what still does not fit, the last that came first. This goes before the moves are put in
// order: they find the room, and no longer the prefixes, of those who go. An engine that is over
// its capacity has got nobody by this plan.
void PackerBase::preempt() {
  const std::set<EngineId> overloaded = fleet_.overloaded();
  for (const EngineId id : overloaded) {
    Engine& engine = fleet_.at(id);
    while (engine.staying() > engine.spec.kv_tokens && !engine.residents.empty()) {
      Request* last = nullptr;
      for (const auto& [own, each] : engine.residents) {
        Request& request = fleet_.at(each);
        if (last == nullptr || request.arrival > last->arrival) last = &request;
      }
      fleet_.look(engine.residents.size());
      plan_.preemptions.push_back({last->id, id, last->own});
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
    plan_.certificate.properties = moving_.empty() && properties();
  }
  preempt();
  draft_.commit(plan_);
  place_waiting();
  close_plan();
  return plan_;
}

}  // namespace aqua::packing
