// SPDX-License-Identifier: Apache-2.0
// Requests: where they come, go on and end.
#include "tools/router/fleet/fleet.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::router {

using packing::EngineId;
using packing::RequestId;

namespace {

constexpr std::size_t kLastMoves = 50;

}  // namespace

Fleet::Fleet(const FleetOptions& options, std::unique_ptr<packing::Packer> packer)
    : options_(options),
      packer_(std::move(packer)),
      sweeps_([this](const std::string& pool) { return of_pool(pool); }, options.health) {}

Result<std::unique_ptr<Fleet>> Fleet::open(const FleetOptions& options,
                                           std::vector<EngineEndpoint> engines) {
  AQUA_ASSIGN(auto packer, packing::make_packer(options.policy, options.packing));
  std::unique_ptr<Fleet> fleet(new Fleet(options, std::move(packer)));
  std::set<std::string> names;
  for (EngineEndpoint& endpoint : engines) {
    if (!names.insert(endpoint.name).second)
      return Error{Code::invalid_argument, concat("two engines are called ", endpoint.name)};
    const EngineId id{names.size()};
    const MutexLock lock(fleet->mu_);
    fleet->engines_[id] = {.asked = std::move(endpoint), .id = id, .fault = "not seen yet"};
  }
  Fleet& self = *fleet;
  for (std::size_t i = 1; i <= names.size(); ++i) {
    self.threads_.emplace_back(
        [&self, id = EngineId{i}](const std::stop_token& stop) { self.watch(id, stop); });
  }
  self.threads_.emplace_back([&self](const std::stop_token& stop) { self.plan_for_ever(stop); });
  return fleet;
}

Fleet::~Fleet() {
  {
    const MutexLock lock(mu_);
    over_ = true;
    changed_.notify_all();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();  // joins
}

void Fleet::order(RequestId id, OrderKind kind, EngineId engine) {
  const Engine* found = find(engine);
  requests_.at(id).who.mail->post(FleetOrder{
      .kind = kind, .request = id, .engine = found == nullptr ? nullptr : found->endpoint});
}

void Fleet::place(RequestId id, EngineId engine) {
  Request& request = requests_.at(id);
  request.at = engine;
  request.to = packing::no_engine;
  order(id, OrderKind::place, engine);
  if (request.who.stays.empty()) return;
  pin(id, request);
  set_capacities();
}

// The packer knows it no more: plans leave it where it is.
void Fleet::pin(RequestId id, Request& request) {
  if (!request.pinned && !request.parked) (void)packer_->ended(id);
  request.pinned = true;
  request.parked = false;
}

// By KV, unless `by_tokens`, where the engines can hand it over now.
void Fleet::order_move(RequestId id, Request& request, EngineId to, std::uint64_t plan,
                       std::string_view cause, bool by_tokens) {
  request.to = to;
  request.last_ordered = ++last_move_;
  request.ordered_from = name_of(request.at);
  request.who.mail->post(FleetOrder{.kind = OrderKind::move,
                                    .request = id,
                                    .engine = find(to)->endpoint,
                                    .plan = plan,
                                    .move = request.last_ordered,
                                    .by_tokens = by_tokens || !hands_over_now(request.at, to),
                                    .cause = cause});
}

// Has the packer place it. Nothing has changed after an error.
Result<void> Fleet::settle(RequestId id, Request& request) {
  const bool any_up = std::ranges::any_of(
      engines_, [](const auto& entry) { return entry.second.endpoint && !entry.second.draining; });
  if (!any_up) return Error{Code::unavailable, "no engine is up"};
  auto placed = packer_->arrive({.id = id,
                                 .tokens = std::max<std::uint64_t>(1, request.who.tokens),
                                 .max_new = request.who.max_new});
  request.at = request.to = packing::no_engine;
  request.parked = false;
  if (placed.ok()) {
    if (placed->engine != packing::no_engine) place(id, placed->engine);
    return {};
  }
  if (placed.error().code != Code::resource_exhausted) return std::move(placed).error();
  // An engine that rests, or has pinned requests, may have room for it later.
  const bool later = std::ranges::any_of(engines_, [&](const auto& entry) {
    const Engine& engine = entry.second;
    return engine.endpoint && engine.set < engine.told && request.who.tokens <= engine.told;
  });
  if (!later) {
    return Error{Code::invalid_argument, concat("its ", request.who.tokens,
                                                " tokens are more than any engine has room for")};
  }
  request.parked = true;
  return {};
}

// Finds a place for a request that no engine has any more. Where no engine is up, or none is large
// enough, the request is parked: each plan tries again.
void Fleet::begin_anew(RequestId id, Request& request) {
  if (!request.pinned && !request.parked) (void)packer_->ended(id);
  // The packer knows nothing of moves that were ordered before.
  std::erase_if(pending_, [&](const PendingMove& pending) { return pending.move.request == id; });
  request.pinned = false;
  request.at = packing::no_engine;
  request.who.tokens = std::max(request.who.tokens, request.who.mail->held_tokens.load());
  if (!settle(id, request).ok()) request.parked = true;
}

Result<RequestId> Fleet::arrive(Newcomer newcomer) {
  const MutexLock lock(mu_);
  if (requests_.size() >= options_.most_requests) {
    return Error{Code::unavailable,
                 concat("there are ", requests_.size(), " requests, as many as the router takes")};
  }
  const RequestId id{++last_request_};
  Request& request = requests_[id];
  request.who = std::move(newcomer);
  if (auto settled = settle(id, request); !settled.ok()) {
    requests_.erase(id);
    return std::move(settled).error();
  }
  return id;
}

void Fleet::blame(Engine& engine, FaultKind kind, const std::string& why) {
  ++engine.faults[static_cast<std::size_t>(kind)];
  engine.fault = why;
  if (!engine.endpoint) return;
  engine.shy_until = Clock::now() + options_.shy;
  engine.doubted |= kind == FaultKind::broke_off || kind == FaultKind::malformed;
}

void Fleet::fault(const std::string& name, FaultKind kind, const std::string& why) {
  const MutexLock lock(mu_);
  if (Engine* engine = find(name); engine != nullptr) blame(*engine, kind, why);
  set_capacities();
}

RequestId Fleet::again(RequestId old, const std::string& name, FaultKind kind,
                       const std::string& why) {
  const MutexLock lock(mu_);
  ++counts_.recoveries;
  if (Engine* engine = find(name); engine != nullptr) blame(*engine, kind, why);
  const auto found = requests_.find(old);
  Request request = std::move(found->second);
  requests_.erase(found);
  moving_.erase(old);
  if (!request.pinned && !request.parked) (void)packer_->ended(old);
  set_capacities();
  const RequestId id{++last_request_};
  request.pinned = false;
  request.at = request.to = packing::no_engine;
  request.who.tokens = std::max(request.who.tokens, request.who.mail->held_tokens.load());
  Request& kept = requests_[id] = std::move(request);
  // Where no engine is up, or none is large enough, each plan tries again.
  if (!settle(id, kept).ok()) kept.parked = true;
  begin_moves();
  return id;
}

void Fleet::keep_in_list(const Request& request, const FleetOrder& order, migration::Kind kind,
                         MoveEnd end, const std::string& why) {
  const auto took = Clock::now() - order.ordered;
  last_moves_.push_front({.number = ++moves_over_,
                          .request = request.who.name,
                          .from = request.ordered_from,
                          .to = order.engine ? order.engine->name : "",
                          .why = is_failure(end) ? why : "",
                          .kind = kind,
                          .end = end,
                          .cause = std::string(order.cause),
                          .took = std::chrono::duration_cast<std::chrono::milliseconds>(took),
                          .at = std::chrono::system_clock::now()});
  if (last_moves_.size() > kLastMoves) last_moves_.pop_back();
}

void Fleet::move_over(const FleetOrder& order, migration::Kind kind, MoveEnd end,
                      const std::string& why, bool begun) {
  const RequestId id = order.request;
  const std::uint64_t plan = order.plan;
  const bool done = end == MoveEnd::done;
  // The next plan gives the order again, and none of it is a move: dozens in a second would hide
  // those that were.
  const bool waited = !begun && plan != 0 && end == MoveEnd::not_yet;
  const MutexLock lock(mu_);
  if (!waited) counts_.moves.add(kind, end);
  const auto found = requests_.find(id);
  if (found != requests_.end()) {
    Request& request = found->second;
    const bool last = order.move == request.last_ordered;
    if (!waited) keep_in_list(request, order, kind, end, why);
    request.move_failed = is_failure(end) ? why : "";
    request.last_move = end;
    if (begun) request.next_move = next_by(request.next_move, kind, end);
    if (plan == 0 && done) pin(id, request);
    if (plan != 0) (void)(done ? packer_->moved(id, plan) : packer_->failed(id, plan));
    if (done && (!last || request.to == packing::no_engine)) {
      begin_anew(id, request);  // the destination went down before its move was told to be done
    } else if (done) {
      request.at = request.to;
    }
    if (done || last) {  // else the later move goes on
      moving_.erase(id);
      request.to = packing::no_engine;
    }
    set_capacities();
  }
  begin_moves();
}

void Fleet::goes_on_at(RequestId id, const std::string& name) {
  const MutexLock lock(mu_);
  ++counts_.recoveries;
  moving_.erase(id);
  const Engine* engine = find(name);
  const auto found = requests_.find(id);
  if (found == requests_.end() || engine == nullptr) return;
  Request& request = found->second;
  pin(id, request);
  request.at = engine->id;
  request.to = packing::no_engine;
  // The engine has gone down meanwhile. down() has told those requests that were known to be on it,
  // of which this was none.
  if (!engine->endpoint) {
    order(id, OrderKind::drop, packing::no_engine);
    begin_anew(id, request);
  }
  set_capacities();
  begin_moves();
}

void Fleet::stays(RequestId id, const std::string& why) {
  const MutexLock lock(mu_);
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  found->second.who.stays = why;
  if (found->second.at != packing::no_engine) pin(id, found->second);
  set_capacities();
}

void Fleet::leave(RequestId id) {
  const MutexLock lock(mu_);
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  const bool pinned = found->second.pinned;
  if (!pinned && !found->second.parked) (void)packer_->ended(id);
  requests_.erase(found);
  moving_.erase(id);
  if (pinned) set_capacities();
  begin_moves();
}

Result<void> Fleet::move(const std::string& name, const std::string& to, bool by_tokens) {
  const MutexLock lock(mu_);
  const auto found = std::ranges::find_if(
      requests_, [&](const auto& entry) { return entry.second.who.name == name; });
  if (found == requests_.end())
    return Error{Code::not_found, concat("no request is called ", name)};
  const Engine* engine = find(to);
  if (engine == nullptr) return Error{Code::not_found, concat("no engine is called ", to)};
  Request& request = found->second;
  const auto refuse = [&](const std::string& why) {
    return Error{Code::failed_precondition, concat("move ", name, " to ", to, ": ", why)};
  };
  if (!engine->endpoint) return refuse("the engine is down");
  if (engine->draining) return refuse("the engine drains");
  if (!request.who.stays.empty()) return refuse(request.who.stays);
  if (request.at == packing::no_engine) return refuse("it waits for a place");
  if (request.to != packing::no_engine) return refuse("it moves already");
  if (request.at == engine->id) return refuse("it is there");
  order_move(found->first, request, engine->id, 0, kOperator, by_tokens);
  return {};
}

std::vector<RequestView> Fleet::requests() const {
  const MutexLock lock(mu_);
  std::vector<RequestView> views;
  for (const auto& [id, request] : requests_) {
    views.push_back(
        {.name = request.who.name,
         .engine = name_of(request.at),
         .moves_to = name_of(request.to),
         .tokens = std::max(request.who.tokens, request.who.mail->held_tokens.load()),
         .by_operator = request.pinned && request.who.stays.empty(),
         .stays = request.who.stays,
         .move_failed = request.move_failed,
         .failed_as = is_failure(request.last_move) ? router::name_of(request.last_move) : ""});
  }
  return views;
}

std::vector<MoveView> Fleet::last_moves() const {
  const MutexLock lock(mu_);
  return {last_moves_.begin(), last_moves_.end()};
}

FleetCounts Fleet::counts() const {
  const MutexLock lock(mu_);
  FleetCounts counts = counts_;
  counts.requests = requests_.size();
  counts.sweeps = sweeps_.waiting();
  counts.oldest_sweep = std::chrono::duration_cast<std::chrono::milliseconds>(sweeps_.oldest());
  counts.sweeps_forgotten = sweeps_.forgotten();
  for (const auto& [id, request] : requests_) counts.waiting += request.at == packing::no_engine;
  return counts;
}

}  // namespace aqua::router
