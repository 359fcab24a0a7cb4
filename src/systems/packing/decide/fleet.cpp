// SPDX-License-Identifier: Apache-2.0
#include "systems/packing/decide/fleet.hpp"

#include <cassert>

// Invariants:
// - Every change of an engine happens inside change(), which takes it out of all indexes before and
//   puts it back after, so that they always agree with what it holds.
// - held_, in_use_ and counts_ are sums over all engines; bound_ has the own tokens of each request
//   that has a home, and each prefix of theirs once.
namespace aqua::packing {

Engine* Fleet::find(EngineId id) {
  const auto found = engines_.find(id);
  return found == engines_.end() ? nullptr : &found->second;
}

Request* Fleet::find(RequestId id) {
  const auto found = requests_.find(static_cast<std::uint64_t>(id));
  return found == requests_.end() ? nullptr : &found->second;
}

// --- indexes -----------------------------------------------------------------------------------

void Fleet::index_rooms(const Engine& engine, bool add) {
  const std::pair key{engine.room(), engine.id()};
  const auto change = [&](Rooms& rooms) {
    add ? static_cast<void>(rooms.insert(key)) : static_cast<void>(rooms.erase(key));
  };
  // A server or a domain that has left leaves nothing behind.
  const auto change_of = [&](auto& groups, auto id) {
    const auto group = groups.try_emplace(id).first;
    change(group->second);
    if (group->second.empty()) groups.erase(group);
  };
  change(rooms_);
  change_of(server_rooms_, engine.spec.server);
  change_of(domain_rooms_, engine.spec.domain);
}

void Fleet::unlist(Engine& engine) {
  counts_[static_cast<std::size_t>(engine.state)] -= 1;
  in_use_ -= engine.in_use();
  held_ -= engine.held;
  overloaded_.erase(engine.id());
  empty_.erase(engine.id());
  draining_.erase(engine.id());
  asleep_.erase({engine.spec.wake_cost, engine.id()});
  if (engine.state == EngineState::active) index_rooms(engine, false);
}

void Fleet::list(Engine& engine) {
  counts_[static_cast<std::size_t>(engine.state)] += 1;
  in_use_ += engine.in_use();
  held_ += engine.held;
  if (engine.staying() > engine.relieved_above) overloaded_.insert(engine.id());
  if (engine.state == EngineState::asleep) asleep_.insert({engine.spec.wake_cost, engine.id()});
  if (engine.state == EngineState::draining) draining_.insert(engine.id());
  if (engine.state == EngineState::active) {
    index_rooms(engine, true);
    if (engine.residents.empty() && !engine.busy()) empty_.insert(engine.id());
  }
}

template <typename Change>
void Fleet::change(Engine& engine, Change&& apply) {
  unlist(engine);
  apply();
  list(engine);
  if (observer_ != nullptr) observer_->engine_changed(engine);
}

template <typename Change>
void Fleet::change_usable(Change&& apply) {
  const std::uint64_t before = reference();
  apply();
  if (reference() == before) return;
  bound_.reset(std::max<std::uint64_t>(reference(), 1));
  for (const auto& [id, request] : requests_) {
    if (request.home != nullptr) bound_.add(request.own);
  }
  for (const auto& [id, housed] : housed_) bound_.add(housed.second);
  if (observer_ != nullptr) observer_->reference_changed();
}

// --- engines -----------------------------------------------------------------------------------

void Fleet::set_capacity(Engine& engine, std::uint64_t kv_tokens) {
  engine.spec.kv_tokens = kv_tokens;
  engine.usable = kv_tokens - share_of(kv_tokens, options_.watermark);
  engine.relieved_above = kv_tokens - (moves_ ? share_of(kv_tokens, options_.watermark / 2) : 0);
}

void Fleet::join(const EngineSpec& spec) {
  Engine& engine = engines_[spec.id];
  engine.spec = spec;
  set_capacity(engine, spec.kv_tokens);
  list(engine);
  change_usable([&] { usables_.insert(engine.usable); });
}

void Fleet::resize(Engine& engine, std::uint64_t kv_tokens) {
  const std::uint64_t before = engine.usable;
  change(engine, [&] { set_capacity(engine, kv_tokens); });
  if (engine.state == EngineState::draining) return;
  change_usable([&] {
    usables_.erase(usables_.find(before));
    usables_.insert(engine.usable);
  });
}

void Fleet::set_state(Engine& engine, EngineState state) {
  const bool drains = state == EngineState::draining && engine.state != state;
  change(engine, [&] {
    if (engine.state == EngineState::asleep && state == EngineState::active) {
      engine.activated = ++wakings_;
    }
    engine.state = state;
  });
  if (drains) change_usable([&] { usables_.erase(usables_.find(engine.usable)); });
}

void Fleet::remove(Engine& engine) {
  assert(engine.residents.empty() && !engine.busy());
  const bool drains = engine.state == EngineState::draining;
  const std::uint64_t usable = engine.usable;
  change(engine, [&] { engine.state = EngineState::asleep; });
  unlist(engine);
  engines_.erase(engine.id());
  if (!drains) change_usable([&] { usables_.erase(usables_.find(usable)); });
}

// --- requests ----------------------------------------------------------------------------------

Request& Fleet::add(const RequestSpec& spec) {
  Request& request = requests_[static_cast<std::uint64_t>(spec.id)];
  request.id = spec.id;
  request.tokens = spec.tokens;
  request.reserved = options_.reserve ? spec.tokens + spec.max_new : 0;
  request.prefix_tokens = spec.prefix_tokens / options_.block_tokens * options_.block_tokens;
  request.prefix = request.prefix_tokens > 0 ? spec.prefix : no_prefix;
  request.own = blocks(std::max(request.tokens, request.reserved)) - request.prefix_tokens;
  request.arrival = ++arrivals_;
  return request;
}

void Fleet::erase(Request& request) {
  assert(request.home == nullptr);
  requests_.erase(static_cast<std::uint64_t>(request.id));
}

void Fleet::count_home(const Request& request, bool add) {
  add ? bound_.add(request.own) : bound_.remove(request.own);
  if (request.prefix == no_prefix) return;
  auto& [homes, tokens] = housed_[request.prefix];
  tokens = request.prefix_tokens;
  homes += add ? 1 : std::uint64_t(-1);
  if (add && homes == 1) bound_.add(tokens);
  if (homes > 0) return;
  bound_.remove(tokens);
  housed_.erase(request.prefix);
}

void Fleet::share(Engine& engine, const Request& request, int all, int leaving, int coming) {
  if (request.prefix == no_prefix) return;
  Sharers& sharers = engine.prefixes[request.prefix];
  const bool was_there = sharers.all > 0;
  const auto goes = [&] {
    return sharers.all > 0 && sharers.all == sharers.leaving ? request.prefix_tokens : 0;
  };
  engine.leaving -= goes();
  sharers.all += static_cast<std::uint32_t>(all);
  sharers.leaving += static_cast<std::uint32_t>(leaving);
  sharers.coming += static_cast<std::uint32_t>(coming);
  engine.leaving += goes();
  if (!was_there) {
    engine.held += request.prefix_tokens;
    holders_[request.prefix].insert(engine.id());
  }
  if (sharers.all > 0) return;
  engine.held -= request.prefix_tokens;
  engine.prefixes.erase(request.prefix);
  const auto holders = holders_.find(request.prefix);
  holders->second.erase(engine.id());
  if (holders->second.empty()) holders_.erase(holders);
}

void Fleet::hold(Engine& engine, const Request& request) {
  engine.held += request.own;
  share(engine, request, 1, 0);
}

void Fleet::release(Engine& engine, const Request& request) {
  engine.held -= request.own;
  share(engine, request, -1, 0);
}

void Fleet::grow(Request& request, std::uint64_t tokens) {
  request.tokens = tokens;
  const std::uint64_t own = blocks(std::max(tokens, request.reserved)) - request.prefix_tokens;
  const std::uint64_t more = own - request.own;
  if (more == 0) return;
  if (request.home == nullptr) {
    request.own = own;
    return;
  }
  bound_.remove(request.own);
  bound_.add(own);
  Engine& home = *request.home;
  change(home, [&] {
    home.held += more;
    if (request.state == RequestState::resident) {
      home.residents.erase({request.own, request.id});
      home.residents.insert({own, request.id});
      home.own += more;
    }
    request.own = own;
  });
  if (Engine* source = request.source) {
    change(*source, [&] {
      source->held += more;
      source->leaving += more;
    });
  }
}

// --- where requests are --------------------------------------------------------------------------

void Fleet::settle(Request& request, Engine& home) {
  assert(request.home == nullptr);
  change(home, [&] {
    hold(home, request);
    home.residents.insert({request.own, request.id});
    home.own += request.own;
  });
  request.home = &home;
  request.state = RequestState::resident;
  count_home(request, true);
}

void Fleet::unsettle(Request& request) {
  if (request.home == nullptr) return;
  Engine& home = *request.home;
  if (request.source != nullptr) drop_source(request);
  change(home, [&] {
    if (request.state == RequestState::moving) {
      share(home, request, 0, 0, -1);
      home.coming -= 1;
    } else {
      home.residents.erase({request.own, request.id});
      home.own -= request.own;
    }
    release(home, request);
  });
  request.home = nullptr;
  request.state = RequestState::waiting;
  count_home(request, false);
}

void Fleet::begin_move(Request& request, Engine& to) {
  if (Engine* from = request.home) {
    change(*from, [&] {
      from->residents.erase({request.own, request.id});
      from->own -= request.own;
      from->going += 1;
      from->leaving += request.own;
      share(*from, request, 0, 1);
    });
    request.source = from;
  } else {
    count_home(request, true);
  }
  change(to, [&] {
    hold(to, request);
    share(to, request, 0, 0, 1);
    to.coming += 1;
  });
  request.home = &to;
  request.state = RequestState::moving;
}

void Fleet::drop_source(Request& request) {
  Engine& source = *request.source;
  change(source, [&] {
    source.going -= 1;
    source.leaving -= request.own;
    source.held -= request.own;
    share(source, request, -1, -1);
  });
  request.source = nullptr;
}

void Fleet::hold_source(Request& request, Engine& source) {
  change(source, [&] {
    source.going += 1;
    source.leaving += request.own;
    source.held += request.own;
    share(source, request, 1, 1);
  });
  request.source = &source;
}

void Fleet::end_move(Request& request) {
  if (request.source != nullptr) drop_source(request);
  Engine& home = *request.home;
  request.state = RequestState::resident;
  change(home, [&] {
    share(home, request, 0, 0, -1);
    home.coming -= 1;
    home.residents.insert({request.own, request.id});
    home.own += request.own;
  });
}

void Fleet::abort_move(Request& request) {
  Engine& from = *request.source;
  Engine& to = *request.home;
  change(to, [&] {
    share(to, request, 0, 0, -1);
    to.coming -= 1;
    release(to, request);
  });
  request.home = &from;
  request.source = nullptr;
  request.state = RequestState::resident;
  change(from, [&] {
    from.going -= 1;
    from.leaving -= request.own;
    share(from, request, 0, -1);
    from.residents.insert({request.own, request.id});
    from.own += request.own;
  });
}

}  // namespace aqua::packing
