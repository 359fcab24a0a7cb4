// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/packer_base.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"

// Invariants:
// - Every request without a home is in waiting_, or in too_large_ if no engine could hold it alone.
// - moving_ has each request that moves, with the plan that ordered it, and nobody else.
namespace aqua::packing {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // tokens of anything

std::uint64_t number(EngineId id) {
  return static_cast<std::uint64_t>(id);
}
std::uint64_t number(RequestId id) {
  return static_cast<std::uint64_t>(id);
}

template <typename... What>
Error wrong(const What&... what) {
  return Error{Code::invalid_argument, concat(what...)};
}

Result<void> check_capacity(const char* call, EngineId id, std::uint64_t kv_tokens) {
  if (kv_tokens > 0 && kv_tokens <= kMost) return {};
  return wrong(call, ": engine ", number(id), ": kv_tokens is ", kv_tokens);
}

}  // namespace

Packer::~Packer() = default;

Result<void> check(const PackerOptions& options) {
  const auto in = [](double value, double least, double most) {
    return std::isfinite(value) && value >= least && value <= most;
  };
  if (!in(options.watermark, 0, 0.5)) return wrong("make_packer: watermark is ", options.watermark);
  if (!in(options.near_slack, 0, 1))
    return wrong("make_packer: near_slack is ", options.near_slack);
  if (!in(options.balance_gap, 1e-9, 1)) {
    return wrong("make_packer: balance_gap is ", options.balance_gap);
  }
  if (options.max_moves == 0) return wrong("make_packer: max_moves is 0");
  if (options.block_tokens == 0 || options.block_tokens > kMost) {
    return wrong("make_packer: block_tokens is ", options.block_tokens);
  }
  if (options.bytes_per_token == 0 || options.bytes_per_token > (kMost >> 20)) {
    return wrong("make_packer: bytes_per_token is ", options.bytes_per_token);
  }
  return {};
}

Result<Request*> PackerBase::request_of(RequestId id, const char* call) {
  if (Request* request = fleet_.find(id)) return request;
  return Error{Code::not_found, concat(call, ": no request ", number(id))};
}

Result<Engine*> PackerBase::engine_of(EngineId id, const char* call) {
  if (Engine* engine = fleet_.find(id)) return engine;
  return Error{Code::not_found, concat(call, ": no engine ", number(id))};
}

// --- engines -----------------------------------------------------------------------------------

Result<void> PackerBase::join(const EngineSpec& engine) {
  if (engine.id == no_engine) return wrong("join: engine 0 names no engine");
  AQUA_TRY(check_capacity("join", engine.id, engine.kv_tokens));
  if (!std::isfinite(engine.wake_cost) || engine.wake_cost < 0) {
    return wrong("join: engine ", number(engine.id), ": wake_cost is ", engine.wake_cost);
  }
  if (fleet_.find(engine.id) != nullptr) {
    return Error{Code::already_exists,
                 concat("join: engine ", number(engine.id), " is known already")};
  }
  fleet_.join(engine);
  requeue();
  ++events_;
  return {};
}

Result<void> PackerBase::resize(EngineId id, std::uint64_t kv_tokens) {
  AQUA_ASSIGN(Engine* const engine, engine_of(id, "resize"));
  AQUA_TRY(check_capacity("resize", id, kv_tokens));
  fleet_.resize(*engine, kv_tokens);
  requeue();
  ++events_;
  return {};
}

Result<void> PackerBase::drain(EngineId id) {
  AQUA_ASSIGN(Engine* const engine, engine_of(id, "drain"));
  if (engine->state == EngineState::draining) {
    return Error{Code::failed_precondition, concat("drain: engine ", number(id), " is draining")};
  }
  fleet_.set_state(*engine, EngineState::draining);
  requeue();
  ++events_;
  return {};
}

Result<void> PackerBase::gone(EngineId id) {
  AQUA_ASSIGN(Engine* const engine, engine_of(id, "gone"));
  if (!engine->residents.empty() || engine->busy()) {
    return Error{
        Code::failed_precondition,
        concat("gone: engine ", number(id), " has ", engine->residents.size(), " requests, ",
               engine->coming, " that come and ", engine->going, " that leave")};
  }
  fleet_.remove(*engine);
  requeue();
  ++events_;
  return {};
}

Result<std::vector<RequestId>> PackerBase::lost(EngineId id) {
  AQUA_ASSIGN(Engine* const engine, engine_of(id, "lost"));
  std::vector<RequestId> waiting;
  for (const auto& [own, resident] : engine->residents) waiting.push_back(resident);
  for (const auto& [mover, plan] : moving_) {
    const Request& request = fleet_.at(mover);
    if (request.source == engine || (request.home == engine && request.source == nullptr)) {
      waiting.push_back(mover);
    }
  }
  for (const RequestId each : waiting) {
    moving_.erase(each);
    fleet_.unsettle(fleet_.at(each));
  }
  for (auto each = moving_.begin(); each != moving_.end();) {
    Request& request = fleet_.at(each->first);
    if (request.home != engine) {
      ++each;
      continue;
    }
    fleet_.abort_move(request);
    each = moving_.erase(each);
  }
  fleet_.remove(*engine);
  for (const RequestId each : waiting) enqueue(fleet_.at(each));
  requeue();
  ++events_;
  std::sort(waiting.begin(), waiting.end());
  return waiting;
}

// --- requests ----------------------------------------------------------------------------------

Result<Placement> PackerBase::arrive(const RequestSpec& spec) {
  const auto refuse = [&](const auto&... what) {
    return wrong("arrive: request ", number(spec.id), ": ", what...);
  };
  if (spec.tokens == 0 || spec.tokens > kMost) return refuse("tokens is ", spec.tokens);
  if (spec.max_new > kMost) return refuse("max_new is ", spec.max_new);
  if (spec.prefix_tokens > spec.tokens) {
    return refuse("prefix_tokens ", spec.prefix_tokens, " of ", spec.tokens);
  }
  if ((spec.prefix == no_prefix) != (spec.prefix_tokens == 0)) {
    return refuse("prefix ", static_cast<std::uint64_t>(spec.prefix), " with prefix_tokens ",
                  spec.prefix_tokens);
  }
  const auto known = prefixes_.find(spec.prefix);
  if (known != prefixes_.end() && known->second.tokens != spec.prefix_tokens) {
    return refuse("prefix_tokens is ", spec.prefix_tokens, ", others of prefix ",
                  static_cast<std::uint64_t>(spec.prefix), " said ", known->second.tokens);
  }
  if (fleet_.find(spec.id) != nullptr) {
    return Error{Code::already_exists,
                 concat("arrive: request ", number(spec.id), " is known already")};
  }
  Request& request = fleet_.add(spec);
  if (too_large(request)) {
    const std::uint64_t needs = request.own + request.prefix_tokens;
    fleet_.erase(request);
    return Error{Code::resource_exhausted,
                 concat("arrive: request ", number(spec.id), " needs ", needs,
                        " tokens, of the largest engine ", fleet_.reference(), " may be filled")};
  }
  // A prefix of less than a block is shared with nobody: fleet_ has dropped it.
  if (request.prefix != no_prefix) {
    Prefix& prefix = prefixes_[request.prefix];
    prefix.tokens = spec.prefix_tokens;
    prefix.requests += 1;
  }
  ++events_;
  const Choice choice = waiting_.empty() ? choose(request, nullptr) : Choice{};
  if (choice.engine == nullptr) enqueue(request);
  return send(request, choice);
}

Result<void> PackerBase::grew(RequestId id, std::uint64_t tokens) {
  AQUA_ASSIGN(Request* const request, request_of(id, "grew"));
  if (tokens < request->tokens || tokens > kMost) {
    return wrong("grew: request ", number(id), " has ", request->tokens, " tokens, not ", tokens);
  }
  if (request->home != nullptr) {
    fleet_.grow(*request, tokens);
    return {};
  }
  dequeue(*request);
  fleet_.grow(*request, tokens);
  enqueue(*request);
  return {};
}

Result<void> PackerBase::ended(RequestId id) {
  AQUA_ASSIGN(Request* const request, request_of(id, "ended"));
  dequeue(*request);
  moving_.erase(id);
  fleet_.unsettle(*request);
  if (const auto prefix = prefixes_.find(request->prefix); prefix != prefixes_.end()) {
    if (--prefix->second.requests == 0) prefixes_.erase(prefix);
  }
  fleet_.erase(*request);
  ++events_;
  return {};
}

Result<Request*> PackerBase::mover_of(RequestId id, std::uint64_t plan, const char* call) {
  AQUA_ASSIGN(Request* const request, request_of(id, call));
  const auto mover = moving_.find(id);
  if (mover == moving_.end()) {
    return Error{Code::failed_precondition, concat(call, ": request ", number(id), " is ",
                                                   to_string(request->state), ", not moving")};
  }
  if (mover->second == plan) return request;
  return Error{Code::failed_precondition, concat(call, ": request ", number(id), " moves by plan ",
                                                 mover->second, ", not by plan ", plan)};
}

Result<void> PackerBase::moved(RequestId id, std::uint64_t plan) {
  AQUA_ASSIGN(Request* const request, mover_of(id, plan, "moved"));
  moving_.erase(id);
  fleet_.end_move(*request);
  return {};
}

Result<void> PackerBase::failed(RequestId id, std::uint64_t plan) {
  AQUA_ASSIGN(Request* const request, mover_of(id, plan, "failed"));
  moving_.erase(id);
  if (request->source != nullptr) {
    fleet_.abort_move(*request);
  } else {
    fleet_.unsettle(*request);
    enqueue(*request);
  }
  return {};
}

// --- questions -----------------------------------------------------------------------------------

Result<RequestStatus> PackerBase::request(RequestId id) const {
  const auto found = fleet_.requests().find(number(id));
  if (found == fleet_.requests().end()) {
    return Error{Code::not_found, concat("request: no request ", number(id))};
  }
  const Request& request = found->second;
  return RequestStatus{request.state, request.home != nullptr ? request.home->id() : no_engine,
                       request.source != nullptr ? request.source->id() : no_engine, request.own,
                       request.prefix_tokens};
}

Result<EngineStatus> PackerBase::engine(EngineId id) const {
  const auto found = fleet_.engines().find(id);
  if (found == fleet_.engines().end()) {
    return Error{Code::not_found, concat("engine: no engine ", number(id))};
  }
  const Engine& engine = found->second;
  return EngineStatus{engine.state,   engine.spec.kv_tokens,
                      engine.usable,  engine.held,
                      engine.leaving, static_cast<std::uint32_t>(engine.residents.size()),
                      engine.coming,  engine.going};
}

PackerStatus PackerBase::status() const noexcept {
  PackerStatus status = totals_;
  status.moving = moving_.size();
  status.waiting = waiting_.size() + too_large_.size();
  status.resident = fleet_.requests().size() - status.moving - status.waiting;
  status.asleep = fleet_.count(EngineState::asleep);
  status.active = fleet_.count(EngineState::active);
  status.draining = fleet_.count(EngineState::draining);
  status.held_tokens = fleet_.held();
  status.held_bytes = fleet_.held() * options_.bytes_per_token;
  status.looked_at = fleet_.looked_at();
  return status;
}

}  // namespace aqua::packing
