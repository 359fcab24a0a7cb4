// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/draft.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

// Invariant: moves_ and tokens_ count the requests that are on another engine than when the plan
// began, once each, however often they were put elsewhere.
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
  return options_.max_move_tokens == 0 || tokens_ + request.own <= options_.max_move_tokens;
}

void Draft::count(const Request& request, const Engine& origin, bool add) {
  if (request.home == &origin) return;
  moves_ += add ? 1 : std::uint64_t(-1);
  tokens_ += add ? request.own : std::uint64_t(0) - request.own;
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

void Draft::commit(Plan& plan) {
  std::vector<Pending> pending = take_back();
  std::vector<std::pair<Request*, Engine*>> sources;  // of what has been begun
  for (std::uint32_t stage = 0; !pending.empty();) {
    std::vector<Pending> later;
    std::vector<Request*> begun;
    for (Pending& each : pending) {
      if (!fleet_.fits(*each.request, *each.to)) {
        later.push_back(each);
        continue;
      }
      each.move.stage = stage;
      each.move.tokens = fleet_.need(*each.request, *each.to);
      each.move.bytes = each.move.tokens * options_.bytes_per_token;
      fleet_.begin_move(*each.request, *each.to);
      if (!each.move.dropped) begun.push_back(each.request);
      plan.moves.push_back(each.move);
    }
    if (later.size() == pending.size()) {
      // Each waits for another's room. The smallest gives its own up, and room follows from that.
      const auto smallest =
          std::min_element(later.begin(), later.end(), [](const Pending& a, const Pending& b) {
            return std::tuple(a.move.dropped, a.request->own, a.request->id) <
                   std::tuple(b.move.dropped, b.request->own, b.request->id);
          });
      assert(!smallest->move.dropped);
      smallest->move.dropped = true;
      fleet_.unsettle(*smallest->request);
    } else {
      ++stage;
    }
    // The next stage begins when these are over.
    for (Request* request : begun) {
      sources.emplace_back(request, request->source);
      fleet_.drop_source(*request);
    }
    pending = std::move(later);
  }
  for (const auto& [request, source] : sources) fleet_.hold_source(*request, *source);
}

}  // namespace aqua::packing
