// SPDX-License-Identifier: Apache-2.0
// What the naive packer is told, and how it plans.
#include <algorithm>
#include <set>

#include "tests/systems/packing/naive_packer.hpp"

namespace aqua::packing::test {

// --- what happens --------------------------------------------------------------------------------

Result<void> NaivePacker::join(const EngineSpec& engine) {
  now_.engines[engine.id] = {engine, EngineState::asleep, 0};
  ++events_;
  return {};
}

Result<void> NaivePacker::resize(EngineId engine, std::uint64_t kv_tokens) {
  now_.engines.at(engine).spec.kv_tokens = kv_tokens;
  ++events_;
  return {};
}

Result<void> NaivePacker::drain(EngineId engine) {
  now_.engines.at(engine).state = EngineState::draining;
  ++events_;
  return {};
}

Result<void> NaivePacker::gone(EngineId engine) {
  now_.engines.erase(engine);
  ++events_;
  return {};
}

Result<std::vector<RequestId>> NaivePacker::lost(EngineId engine) {
  std::vector<RequestId> waiting;
  for (auto& [id, r] : now_.requests) {
    const bool moves = r.state == RequestState::moving;
    const bool here = moves && r.source != no_engine ? r.source == engine : r.home == engine;
    if (r.home == no_engine || (!here && r.home != engine)) continue;
    if (here) {
      waiting.push_back(id);
      r.home = no_engine;
      r.state = RequestState::waiting;
    } else {  // it was on its way there
      r.home = r.source;
      r.state = RequestState::resident;
    }
    r.source = no_engine;
  }
  now_.engines.erase(engine);
  ++events_;
  return waiting;
}

Result<Placement> NaivePacker::arrive(const RequestSpec& spec) {
  NaiveRequest r{.spec = spec};
  r.shared = spec.prefix_tokens - spec.prefix_tokens % options_.block_tokens;
  r.own = blocks(spec.tokens + (options_.reserve ? spec.max_new : 0)) - r.shared;
  r.arrival = ++arrivals_;
  r.tokens = spec.tokens;
  ++events_;
  const bool others_wait = !queue(false).empty();
  now_.requests[spec.id] = r;
  return send(spec.id, others_wait ? Chosen{} : choose(r, no_engine));
}

Result<void> NaivePacker::grew(RequestId id, std::uint64_t tokens) {
  NaiveRequest& r = now_.requests.at(id);
  r.own = std::max(r.own, blocks(tokens) - r.shared);
  r.tokens = tokens;
  return {};
}

Result<void> NaivePacker::ended(RequestId id) {
  now_.requests.erase(id);
  ++events_;
  return {};
}

Result<void> NaivePacker::moved(RequestId id, std::uint64_t) {
  NaiveRequest& r = now_.requests.at(id);
  r.source = no_engine;
  r.state = RequestState::resident;
  return {};
}

Result<void> NaivePacker::failed(RequestId id, std::uint64_t) {
  NaiveRequest& r = now_.requests.at(id);
  r.home = r.source;
  r.source = no_engine;
  r.state = r.home == no_engine ? RequestState::waiting : RequestState::resident;
  return {};
}

// --- moves ---------------------------------------------------------------------------------------

bool NaivePacker::displaced(RequestId id) const {
  return now_.requests.at(id).home != before_.requests.at(id).home;
}

std::uint64_t NaivePacker::moves_made() const {
  return static_cast<std::uint64_t>(
      std::count_if(now_.touched.begin(), now_.touched.end(),
                    [&](const auto& touched) { return displaced(touched.first); }));
}

bool NaivePacker::affords(RequestId id) const {
  if (displaced(id)) return true;
  if (moves_made() >= plan_.move_limit) return false;
  std::uint64_t others = 0;
  for (const auto& [touched, reason] : now_.touched) {
    others += displaced(touched) ? written(now_.requests.at(touched)) : 0;
  }
  if (options_.max_move_tokens == 0 || others == 0) return true;
  return others + written(now_.requests.at(id)) <= options_.max_move_tokens;
}

void NaivePacker::relocate(RequestId id, EngineId to, Reason reason) {
  if (now_.engines.at(to).state == EngineState::asleep) {
    now_.engines.at(to).state = EngineState::active;
    now_.engines.at(to).activated = ++wakings_;
    now_.woken.push_back(to);
  }
  const auto touched = std::find_if(now_.touched.begin(), now_.touched.end(),
                                    [&](const auto& each) { return each.first == id; });
  if (touched != now_.touched.end()) {
    touched->second = reason;
  } else {
    now_.touched.emplace_back(id, reason);
  }
  now_.requests.at(id).home = to;
}

bool NaivePacker::move_off(RequestId id, Reason reason, bool wake) {
  if (!affords(id)) return false;
  const NaiveRequest& r = now_.requests.at(id);
  const Chosen chosen = wake ? choose(r, r.home) : place(r, r.home);
  if (chosen.engine == no_engine) return false;
  relocate(id, chosen.engine, reason);
  return true;
}

Placement NaivePacker::send(RequestId id, Chosen chosen) {
  if (chosen.engine == no_engine) return {id, no_engine, Reason::waits, false};
  NaiveEngine& engine = now_.engines.at(chosen.engine);
  const bool wakes = engine.state == EngineState::asleep;
  if (wakes) engine.activated = ++wakings_;
  engine.state = EngineState::active;
  now_.requests.at(id).home = chosen.engine;
  now_.requests.at(id).state = RequestState::resident;
  return {id, chosen.engine, chosen.reason, wakes};
}

void NaivePacker::evacuate() {
  for (const EngineId id : engines_that(EngineState::draining)) {
    const std::vector<RequestId> here = residents(id);
    for (auto r = here.rbegin(); r != here.rend(); ++r) (void)move_off(*r, Reason::drains, true);
  }
}

// By the smallest that is enough, or by smaller and smaller ones; only then may an engine wake.
bool NaivePacker::relieve_once(EngineId id) {
  if (staying(id) <= usable(id)) return false;
  const std::uint64_t excess = staying(id) - usable(id);
  std::vector<RequestId> tried;
  for (const RequestId r : residents(id)) {
    tried.insert(tried.begin(), r);
    if (now_.requests.at(r).own >= excess) break;
  }
  const auto goes = [&](bool wake) {
    return std::any_of(tried.begin(), tried.end(),
                       [&](RequestId r) { return move_off(r, Reason::overload, wake); });
  };
  return goes(false) || goes(true);
}

// All is put back; then, round by round, whatever has room at its destination begins, and leaves
// its source when the round is over. When nothing can begin, the smallest is dropped from the
// start.
void NaivePacker::stage_moves() {
  std::vector<Move> wanted;
  for (const auto& [id, reason] : now_.touched) {
    if (!displaced(id) || now_.requests.at(id).home == no_engine) continue;
    const EngineId from = before_.requests.at(id).home, to = now_.requests.at(id).home;
    wanted.push_back({.request = id, .from = from, .to = to, .reason = reason});
    now_.requests.at(id).home = from;
  }
  const NaiveFleet start = now_;
  while (!begin_rounds(wanted)) {
    now_ = start;
    plan_.moves.clear();
  }
  for (const Move& move : plan_.moves) {
    if (!move.dropped) now_.requests.at(move.request).source = move.from;
  }
}

bool NaivePacker::begin_rounds(std::vector<Move>& wanted) {
  for (const Move& move : wanted) {
    if (move.dropped) now_.requests.at(move.request).home = no_engine;
  }
  for (std::uint32_t stage = 0; plan_.moves.size() < wanted.size(); ++stage) {
    std::vector<RequestId> round;
    Move* smallest = nullptr;
    for (Move& move : wanted) {
      NaiveRequest& r = now_.requests.at(move.request);
      if (r.state == RequestState::moving) continue;
      if (!fits(r, move.to)) {
        const auto key = [&](const Move& m) {
          return std::pair(now_.requests.at(m.request).own, m.request);
        };
        const bool first = smallest == nullptr || key(move) < key(*smallest);
        if (!move.dropped && first) smallest = &move;
        continue;
      }
      move.stage = stage;
      r.source = r.home;
      r.home = move.to;
      r.state = RequestState::moving;
      round.push_back(move.request);
      plan_.moves.push_back(move);
    }
    if (round.empty()) {
      smallest->dropped = true;
      return false;
    }
    for (Move& move : plan_.moves) {
      const NaiveRequest& r = now_.requests.at(move.request);
      if (move.stage != stage) continue;
      move.tokens = written(r) - (prefix_kept(move.to, r.spec.prefix) ? r.shared : 0);
      move.bytes = move.tokens * options_.bytes_per_token;
    }
    for (const RequestId id : round) now_.requests.at(id).source = no_engine;
  }
  return true;
}

void NaivePacker::preempt() {
  for (const EngineId id : overloaded()) {
    while (staying(id) > now_.engines.at(id).spec.kv_tokens && !residents(id).empty()) {
      // Whoever could be placed again goes before those who could not.
      std::vector<RequestId> here = residents(id);
      const auto beyond_all = [&](RequestId each) {
        return now_.requests.at(each).own + now_.requests.at(each).shared > reference();
      };
      if (!std::all_of(here.begin(), here.end(), beyond_all)) std::erase_if(here, beyond_all);
      const RequestId last = *std::max_element(here.begin(), here.end(), [&](auto a, auto b) {
        return now_.requests.at(a).arrival < now_.requests.at(b).arrival;
      });
      NaiveRequest& r = now_.requests.at(last);
      plan_.preemptions.push_back({last, id, written(r) - r.shared});
      r.home = no_engine;
      r.state = RequestState::waiting;
    }
  }
}

void NaivePacker::place_waiting() {
  for (const RequestId id : queue(false)) {
    const Placement placed = send(id, choose(now_.requests.at(id), no_engine));
    if (placed.engine == no_engine) return;
    plan_.placements.push_back(placed);
    if (placed.wakes) plan_.wake.push_back(placed.engine);
  }
}

void NaivePacker::close() {
  const auto mine = [&](EngineId id) {
    return std::find(now_.woken.begin(), now_.woken.end(), id) != now_.woken.end();
  };
  for (auto& [id, engine] : now_.engines) {
    const bool empty = residents(id).empty() && !in_transit(id);
    if (engine.state == EngineState::draining && empty) plan_.drained.push_back(id);
    if (engine.state != EngineState::active) continue;
    if (empty) engine.state = EngineState::asleep;
    if (empty && !mine(id)) plan_.freed.push_back(id);
    if (!empty && mine(id)) plan_.wake.push_back(id);
  }
  std::sort(plan_.wake.begin(), plan_.wake.end());
  plan_.too_large = queue(true);
  Certificate& certificate = plan_.certificate;
  certificate.engines = in_use();
  certificate.bound = bound();
  certificate.within = few_enough();
  certificate.properties &= plan_.placements.empty() && plan_.preemptions.empty();
  totals_.moves += plan_.moves.size();
  totals_.preemptions += plan_.preemptions.size();
  for (const Move& move : plan_.moves) {
    totals_.moved_tokens += move.tokens;
    totals_.moved_bytes += move.bytes;
  }
}

const Plan& NaivePacker::epoch() {
  plan_ = Plan{.number = plan_.number + 1};
  const Ids full = overloaded();
  const std::uint64_t events = events_ + full.size();
  plan_.move_limit = options_.max_moves * (events > 0 ? events : 1);
  events_ = 0;
  now_.touched.clear();
  now_.woken.clear();
  before_ = now_;
  if (moves()) {
    evacuate();
    for (const EngineId id : full) {
      if (now_.engines.at(id).state != EngineState::active) continue;
      while (relieve_once(id)) {
      }
    }
    improve();
    const bool calm = std::none_of(now_.requests.begin(), now_.requests.end(), [](const auto& r) {
      return r.second.state == RequestState::moving;
    });
    std::set<std::uint64_t> capacities;
    bool drains = false;
    for (const auto& [id, engine] : now_.engines) {
      capacities.insert(usable(id));
      drains |= engine.state == EngineState::draining;
    }
    const bool shared = std::any_of(now_.requests.begin(), now_.requests.end(),
                                    [](const auto& r) { return r.second.shared > 0; });
    const bool promised = calm && !drains && !shared && capacities.size() <= 1;
    plan_.certificate.properties = promised && properties();
  }
  preempt();
  stage_moves();
  place_waiting();
  close();
  return plan_;
}

}  // namespace aqua::packing::test
