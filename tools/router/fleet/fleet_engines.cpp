// SPDX-License-Identifier: Apache-2.0
// Engines: whether they are there, what they hold, and who may use them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/router/fleet/fleet.hpp"

namespace aqua::router {

using packing::EngineId;

void Fleet::watch(EngineId id, const std::stop_token& stop) {
  EngineEndpoint endpoint;
  {
    const MutexLock lock(mu_);
    endpoint = engines_.at(id).asked;
  }
  while (!stop.stop_requested()) {
    bool known = false;
    {
      const MutexLock lock(mu_);
      known = engines_.at(id).endpoint != nullptr;
    }
    if (known) {
      const auto health = ask_health(endpoint, stop);
      if (health.ok()) {
        {
          const MutexLock lock(mu_);
          engines_.at(id).missed = 0;
        }
        ask_facts_again(id, stop);
        ask_pool_again(id, stop);
      } else {
        missed(id, health.error());
      }
    } else if (auto facts = ask_facts(endpoint, stop); facts.ok()) {
      seen(id, *std::move(facts));
    } else {
      missed(id, facts.error());
    }
    const auto until = Clock::now() + options_.health;
    const MutexLock lock(mu_);
    while (!over_ && Clock::now() < until) (void)changed_.wait_until(mu_, until);
  }
}

// Engines of one router serve one model, cut by one tokenizer: ids of one mean the same on another.
std::string Fleet::unlike(const EngineFacts& facts) const {
  if (model_.empty()) return {};
  if (facts.model != model_) return concat("it serves ", facts.model, ", the others ", model_);
  if (facts.fingerprint != fingerprint_) return "its tokenizer is not that of the others";
  return {};
}

void Fleet::seen(EngineId id, EngineFacts facts) {
  const MutexLock lock(mu_);
  Engine& engine = engines_.at(id);
  engine.missed = 0;
  if (std::string why = unlike(facts); !why.empty()) {
    engine.fault = std::move(why);
    return;
  }
  engine.told = facts.kv_tokens > 0 ? facts.kv_tokens : options_.default_tokens;
  const auto joined = packer_->join({.id = id, .kv_tokens = engine.told});
  if (!joined.ok()) {
    engine.fault = joined.error().message;
    return;
  }
  EngineEndpoint endpoint = engine.asked;
  endpoint.dialect = facts.dialect;
  endpoint.model = facts.model;
  endpoint.max_tokens = facts.max_tokens;
  endpoint.kv = std::move(facts.kv);
  engine.endpoint = std::make_shared<const EngineEndpoint>(std::move(endpoint));
  engine.set = engine.told;
  engine.shy_until = {};
  engine.doubted = false;
  engine.fault.clear();
  if (model_.empty()) {
    model_ = facts.model;
    fingerprint_ = std::move(facts.fingerprint);
    first_ = engine.endpoint;
  }
  if (engine.draining) (void)packer_->drain(id);
  wanted_ = true;
  changed_.notify_all();
}

// An engine that ends and comes back between two health checks may be another one: it is down then,
// and seen() decides about the one that is there now. Where it does not answer it is asked again.
void Fleet::ask_facts_again(EngineId id, const std::stop_token& stop) {
  std::shared_ptr<const EngineEndpoint> before;
  {
    const MutexLock lock(mu_);
    Engine& engine = engines_.at(id);
    if (!std::exchange(engine.doubted, false)) return;
    before = engine.endpoint;
  }
  if (!before) return;
  const auto facts = ask_facts(*before, stop);
  const MutexLock lock(mu_);
  Engine& engine = engines_.at(id);
  if (!facts.ok()) {
    engine.doubted = true;
    return;
  }
  const std::uint64_t told = facts->kv_tokens > 0 ? facts->kv_tokens : options_.default_tokens;
  const bool same = facts->dialect == before->dialect && facts->model == before->model &&
                    facts->max_tokens == before->max_tokens && told == engine.told &&
                    facts->fingerprint == fingerprint_ && facts->kv.pool == before->kv.pool &&
                    facts->kv.role == before->kv.role;
  if (same || !engine.endpoint) return;
  engine.fault = "it came back as another engine";
  down(engine);
}

// The keeper of a pool may go and come back while its engines are up. An engine of no pool is not
// asked: it does not know the path. Nothing else of its endpoint changes: where no answer comes, or
// one about another pool or role, the endpoint stays as it was; that an engine is down shows by its
// health.
void Fleet::ask_pool_again(EngineId id, const std::stop_token& stop) {
  std::shared_ptr<const EngineEndpoint> before;
  {
    const MutexLock lock(mu_);
    before = engines_.at(id).endpoint;
  }
  if (!before || before->kv.pool.empty()) return;
  const auto said = ask_pool(*before, stop);
  if (!said.ok() || said->pool != before->kv.pool || said->role != before->kv.role) return;
  if (*said == before->kv) return;
  const MutexLock lock(mu_);
  Engine& engine = engines_.at(id);
  if (engine.endpoint != before) return;
  EngineEndpoint endpoint = *before;
  endpoint.kv = *said;
  engine.endpoint = std::make_shared<const EngineEndpoint>(std::move(endpoint));
}

bool Fleet::hands_over_now(EngineId a, EngineId b) const {
  const Engine *from = find(a), *to = find(b);
  return from != nullptr && to != nullptr && from->endpoint && to->endpoint &&
         hands_over(*from->endpoint, *to->endpoint);
}

void Fleet::missed(EngineId id, const Error& why) {
  if (why.code == Code::cancelled) return;
  const MutexLock lock(mu_);
  Engine& engine = engines_.at(id);
  engine.fault = why.message;
  // With resource_exhausted the engine was not asked, since this process is at its limit.
  if (!engine.endpoint || why.code == Code::resource_exhausted) return;
  if (++engine.missed < options_.misses && why.code != Code::unavailable) return;
  down(engine);
}

void Fleet::down(Engine& engine) {
  engine.missed = 0;
  for (auto& [id, request] : requests_) {
    if (request.at != engine.id && request.to != engine.id) continue;
    order(id, OrderKind::gone, engine.id);
    if (request.at == engine.id) request.at = packing::no_engine;
    if (request.to == engine.id) request.to = packing::no_engine;
  }
  engine.endpoint = nullptr;
  (void)packer_->lost(engine.id);
  // The packer has given up these moves. One whose KV was dropped has no source any more.
  std::erase_if(pending_, [&](const PendingMove& pending) {
    const packing::Move& move = pending.move;
    return move.to == engine.id || (move.from == engine.id && !move.dropped);
  });
  // Only once the packer knows of the death: it would choose the dead engine again.
  for (auto& [id, request] : requests_) {
    if (request.pinned && request.at == packing::no_engine) begin_anew(id, request);
  }
  wanted_ = true;
  changed_.notify_all();
}

std::uint64_t Fleet::pinned_to(EngineId id) const {
  std::uint64_t tokens = 0;
  for (const auto& [unused, request] : requests_) {
    if (request.pinned && request.at == id)
      tokens += std::max(request.who.tokens, request.who.mail->held_tokens.load());
  }
  return tokens;
}

// Tells the packer what it may fill, where that has changed.
void Fleet::set_capacities() {
  const auto now = Clock::now();
  for (auto& [id, engine] : engines_) {
    if (!engine.endpoint) continue;
    std::uint64_t room = engine.told - std::min(engine.told, pinned_to(id));
    if (engine.shy_until > now) {
      // What it holds stays, with the watermark above it: nothing is to move away because of this.
      const auto status = packer_->engine(id);
      const double held = status.ok() ? static_cast<double>(status->held_tokens) : 0;
      room = std::min(
          room, static_cast<std::uint64_t>(std::ceil(held / (1 - options_.packing.watermark))));
    }
    room = std::max<std::uint64_t>(room, 1);
    if (room == engine.set) continue;
    if (packer_->resize(id, room).ok()) engine.set = room;
  }
}

Fleet::Engine* Fleet::find(const std::string& name) {
  for (auto& [id, engine] : engines_) {
    if (engine.asked.name == name) return &engine;
  }
  return nullptr;
}

const Fleet::Engine* Fleet::find(EngineId id) const {
  const auto found = engines_.find(id);
  return found == engines_.end() ? nullptr : &found->second;
}

std::string Fleet::name_of(EngineId id) const {
  const Engine* engine = find(id);
  return engine == nullptr ? std::string() : engine->asked.name;
}

Result<std::shared_ptr<const EngineEndpoint>> Fleet::any() {
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<const EngineEndpoint>> endpoints;
  for (const auto& [id, engine] : engines_) {
    if (engine.endpoint && !engine.draining) endpoints.push_back(engine.endpoint);
  }
  if (endpoints.empty()) return Error{Code::unavailable, "no engine is up"};
  return endpoints[++last_asked_ % endpoints.size()];
}

std::vector<std::shared_ptr<const EngineEndpoint>> Fleet::of_pool(const std::string& pool) const {
  const MutexLock lock(mu_);
  std::vector<std::shared_ptr<const EngineEndpoint>> found;
  for (const auto& [id, engine] : engines_) {
    if (engine.endpoint && engine.endpoint->kv.pool == pool) found.push_back(engine.endpoint);
  }
  return found;
}

void Fleet::sweep(const std::string& from, const std::string& to, const std::string& request,
                  Turn up_to) {
  sweeps_.add({.from = from, .to = to, .request = request}, up_to);
}

Result<std::shared_ptr<const EngineEndpoint>> Fleet::model() const {
  const MutexLock lock(mu_);
  if (first_) return first_;
  return Error{Code::unavailable, "no engine has told yet what it serves"};
}

Result<void> Fleet::drain(const std::string& name) {
  const MutexLock lock(mu_);
  Engine* engine = find(name);
  if (engine == nullptr) return Error{Code::not_found, concat("no engine is called ", name)};
  if (engine->draining) return Error{Code::failed_precondition, concat(name, " drains already")};
  if (engine->endpoint) AQUA_TRY(packer_->drain(engine->id));
  engine->draining = true;
  wanted_ = true;
  changed_.notify_all();
  return {};
}

Result<void> Fleet::resume(const std::string& name) {
  const MutexLock lock(mu_);
  Engine* engine = find(name);
  if (engine == nullptr) return Error{Code::not_found, concat("no engine is called ", name)};
  if (!engine->draining) return Error{Code::failed_precondition, concat(name, " does not drain")};
  if (engine->endpoint) {
    if (pinned_to(engine->id) > 0)
      return Error{Code::failed_precondition, concat(name, " holds requests still")};
    AQUA_TRY(packer_->gone(engine->id));
    AQUA_TRY(packer_->join({.id = engine->id, .kv_tokens = engine->set}));
  }
  engine->draining = false;
  wanted_ = true;
  changed_.notify_all();
  return {};
}

std::vector<EngineView> Fleet::engines() const {
  const MutexLock lock(mu_);
  std::vector<EngineView> views;
  for (const auto& [id, engine] : engines_) {
    EngineView view{.name = engine.asked.name,
                    .url = concat("http://", engine.asked.url.host, ":", engine.asked.url.port,
                                  engine.asked.url.prefix),
                    .state = engine.draining ? "draining" : "up",
                    .fault = engine.fault,
                    .told_tokens = engine.told,
                    .faults = engine.faults};
    if (!engine.endpoint) view.state = "down";
    if (engine.endpoint) {
      view.model = engine.endpoint->model;
      view.dialect = to_string(engine.endpoint->dialect);
      view.pool = engine.endpoint->kv.pool;
      view.pool_away = engine.endpoint->kv.away;
      if (const auto status = packer_->engine(id); status.ok()) {
        view.usable_tokens = status->usable_tokens + pinned_to(id);
        view.held_tokens = status->held_tokens + pinned_to(id);
      }
    }
    for (const auto& [unused, request] : requests_) view.requests += request.at == id;
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace aqua::router
