// SPDX-License-Identifier: Apache-2.0
// Where a Fleet has room.
#include "systems/packing/decide/fleet.hpp"

namespace aqua::packing {
namespace {

constexpr std::size_t kHolders = 8;  // of a prefix, looked at in one decision

}  // namespace

Engine* Fleet::first_with(const Rooms& rooms, std::int64_t need, const Engine* except) {
  auto found = rooms.lower_bound({need, no_engine});
  look();
  if (found != rooms.end() && except != nullptr && found->second == except->id()) {
    ++found;
    look();
  }
  return found == rooms.end() ? nullptr : &at(found->second);
}

bool Fleet::prefix_stays(const Request& request, const Engine& engine) const {
  const auto found = engine.prefixes.find(request.prefix);
  if (found == engine.prefixes.end()) return false;
  const Sharers& sharers = found->second;
  return sharers.all > sharers.leaving + sharers.coming;
}

Engine* Fleet::prefix_fit(const Request& request, const Engine* except, bool worst) {
  const auto holders = holders_.find(request.prefix);
  if (holders == holders_.end()) return nullptr;
  Engine* best = nullptr;
  std::size_t seen = 0;
  for (auto id = holders->second.begin(); id != holders->second.end() && seen < kHolders; ++id) {
    Engine& engine = at(*id);
    if (engine.state != EngineState::active) continue;
    ++seen;
    if (&engine == except) continue;
    if (engine.room() < static_cast<std::int64_t>(request.own)) continue;
    const bool better =
        best == nullptr || (worst ? engine.room() > best->room() : engine.room() < best->room());
    if (better) best = &engine;
  }
  look(seen);
  return best;
}

Engine* Fleet::best_fit(const Request& request, const Engine* except) {
  const auto need = static_cast<std::int64_t>(request.own + request.prefix_tokens);
  Engine* best = first_with(rooms_, need, except);
  if (best == nullptr || except == nullptr || options_.near_slack <= 0) return best;
  const auto server = server_rooms_.find(except->spec.server);
  const auto domain = domain_rooms_.find(except->spec.domain);
  for (const Rooms* rooms : {server == server_rooms_.end() ? nullptr : &server->second,
                             domain == domain_rooms_.end() ? nullptr : &domain->second}) {
    Engine* near = rooms == nullptr ? nullptr : first_with(*rooms, need, except);
    if (near == nullptr) continue;
    const auto slack = static_cast<std::int64_t>(share_of(near->usable, options_.near_slack));
    if (near->room() - best->room() <= slack) return near;
  }
  return best;
}

Engine* Fleet::worst_fit(const Request& request, const Engine* except) {
  const auto need = static_cast<std::int64_t>(request.own + request.prefix_tokens);
  auto most = rooms_.rbegin();
  if (most != rooms_.rend() && except != nullptr && most->second == except->id()) ++most;
  look(2);
  if (most == rooms_.rend() || most->first < need) return nullptr;
  auto lowest = rooms_.lower_bound({most->first, no_engine});
  if (except != nullptr && lowest->second == except->id()) ++lowest;
  return &at(lowest->second);
}

Engine* Fleet::sleeper(const Request& request) {
  for (const auto& [cost, id] : asleep_) {
    Engine& engine = at(id);
    look();
    if (engine.usable >= request.own + request.prefix_tokens) return &engine;
  }
  return nullptr;
}

}  // namespace aqua::packing
