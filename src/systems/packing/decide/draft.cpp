// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/draft.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

// Invariant: moves_ and tokens_ count the requests that are on another engine than when the plan
// began, and the KV that they copy at most, once each, however often they were put elsewhere.
namespace aqua::packing {

void Draft::begin(std::uint64_t most_moves) {
  most_moves_ = most_moves;
  moves_ = tokens_ = 0;
  origins_.clear();
  touched_.clear();
  steps_.clear();
  woken_.clear();
}

bool Draft::affords(const Request& request) const {
  const auto origin = origins_.find(key(request));
  if (origin != origins_.end() && origin->second.engine != request.home) return true;
  if (moves_ >= most_moves_) return false;
  const std::uint64_t most = options_.max_move_tokens;
  return most == 0 || tokens_ == 0 || tokens_ + fleet_.filled(request) <= most;
}

void Draft::count(const Request& request, const Engine& origin, bool add) {
  if (request.home == &origin) return;
  moves_ += add ? 1 : std::uint64_t(-1);
  const std::uint64_t tokens = fleet_.filled(request);
  tokens_ += add ? tokens : std::uint64_t(0) - tokens;
}

void Draft::put(Request& request, Engine& to) {
  fleet_.unsettle(request);
  fleet_.settle(request, to);
}

void Draft::relocate(Request& request, Engine& to, Reason reason) {
  assert(request.state == RequestState::resident && request.home != &to);
  const bool woke = to.state == EngineState::asleep;
  if (woke) {
    fleet_.set_state(to, EngineState::active);
    woken_.push_back(to.id());
  }
  const auto [found, first] = origins_.try_emplace(key(request), Origin{request.home, reason});
  if (first) touched_.push_back(&request);
  Origin& origin = found->second;
  steps_.push_back({&request, request.home, origin.reason, first, woke});
  origin.reason = reason;
  count(request, *origin.engine, false);
  put(request, to);
  count(request, *origin.engine, true);
}

void Draft::rollback(Mark mark) {
  while (steps_.size() > mark) {
    const Step step = steps_.back();
    steps_.pop_back();
    Request& request = *step.request;
    Origin& origin = origins_.find(key(request))->second;
    Engine& was = *request.home;
    count(request, *origin.engine, false);
    put(request, *step.from);
    count(request, *origin.engine, true);
    origin.reason = step.reason;
    if (step.first) {
      origins_.erase(key(request));
      touched_.pop_back();
    }
    if (step.woke) {
      fleet_.set_state(was, EngineState::asleep);
      woken_.pop_back();
    }
  }
}

// Back to where everything really is, with what is to move from there.
std::vector<Draft::Pending> Draft::take_back() {
  std::vector<Pending> pending;
  for (Request* request : touched_) {
    const Origin& origin = origins_.find(key(*request))->second;
    Engine* to = request->home;
    if (to == nullptr || origin.engine == to) continue;  // preempted meanwhile, or come back
    Move move{.request = request->id,
              .from = origin.engine->id(),
              .to = to->id(),
              .reason = origin.reason};
    pending.push_back({request, to, origin.engine, move});
  }
  for (const Pending& each : pending) put(*each.request, *each.from);
  return pending;
}

// Begins what has room, stage by stage, as if the stage before were over and dropped KV gone.
// Answers the smallest of those that wait for each other's room, if any do.
Draft::Pending* Draft::begin_stages(std::vector<Pending>& pending) {
  std::vector<Pending*> left;
  for (Pending& each : pending) {
    left.push_back(&each);
    if (each.move.dropped) fleet_.unsettle(*each.request);
  }
  for (std::uint32_t stage = 0; !left.empty(); ++stage) {
    std::vector<Pending*> later, begun;
    for (Pending* each : left) {
      Request& request = *each->request;
      if (!fleet_.fits(request, *each->to)) {
        later.push_back(each);
        continue;
      }
      each->move.stage = stage;
      fleet_.begin_move(request, *each->to);
      begun.push_back(each);
    }
    if (begun.empty()) {
      return *std::min_element(later.begin(), later.end(), [](const Pending* a, const Pending* b) {
        return std::tuple(a->move.dropped, a->request->own, a->request->id) <
               std::tuple(b->move.dropped, b->request->own, b->request->id);
      });
    }
    for (Pending* each : begun) {
      Request& request = *each->request;
      const bool there = fleet_.prefix_stays(request, *each->to);
      each->move.tokens = fleet_.filled(request) - (there ? request.prefix_tokens : 0);
      each->move.bytes = each->move.tokens * options_.bytes_per_token;
      if (!each->move.dropped) fleet_.drop_source(request);
    }
    left = std::move(later);
  }
  return nullptr;
}

// Where moves wait for each other the smallest gives its room up, and all begins anew: what was
// found to fit beside its KV, or to share its prefix, may not. With everything dropped there is
// room for all, so that this ends.
void Draft::commit(Plan& plan) {
  std::vector<Pending> pending = take_back();
  while (Pending* stuck = begin_stages(pending)) {
    assert(!stuck->move.dropped);
    for (const Pending& each : pending) put(*each.request, *each.from);
    stuck->move.dropped = true;
  }
  std::stable_sort(pending.begin(), pending.end(),
                   [](const Pending& a, const Pending& b) { return a.move.stage < b.move.stage; });
  for (const Pending& each : pending) {
    plan.moves.push_back(each.move);
    if (!each.move.dropped) fleet_.hold_source(*each.request, *each.from);
  }
}

}  // namespace aqua::packing
